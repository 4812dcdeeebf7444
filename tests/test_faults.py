"""What a fit leaves behind that is interrupted, killed, or robbed of its workers."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import faulty
import joblib
import numpy as np
import pytest
from joblib.parallel import ThreadingBackend
from learners import LEARNERS, X, Y, learned, make_instances

import sklearn_linkage_learn
from sklearn_linkage_learn import LearnedLinkage, _parallel
from sklearn_linkage_learn.losses import cut_loss

has_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
# What takes no time may take some on a machine that is busy with other things.
GENEROUS = 5.0


@pytest.fixture(scope="module", params=LEARNERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def start():
    """A function that calls one of `faulty` in a process of its own."""
    # That process has to find the same package and these tests.
    paths = [Path(__file__).parent, Path(sklearn_linkage_learn.__file__).parents[1]]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    processes = []

    def start(function, *args):
        program = f"import faulty; faulty.{function}(*{args!r})"
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            text=True,
            env=env,
            # The checkout may have no compiled core.
            cwd=paths[0],
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        with process:
            process.kill()


def output(process):
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return json.loads(printed)


# Ctrl-C.


@pytest.fixture(scope="module")
def interruptions(start, tmp_path_factory):
    return output(start("interrupt_fits", str(tmp_path_factory.mktemp("store"))))


@has_signals
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("what", faulty.long_fits(None))
def test_ctrl_c_ends_a_fit_at_once_and_leaves_all_as_it_was(
    interruptions, what, n_jobs
):
    report = interruptions[f"{what}, n_jobs={n_jobs}"]
    assert report["latency"] < GENEROUS
    assert report["until quiet"] < GENEROUS
    assert report["is unchanged"]
    assert report["idle bytes"] == 0
    assert report["works again"]


@has_signals
def test_ctrl_c_is_not_lost_if_something_swallows_its_exception():
    def swallowing(Z, labels):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            calls.append(len(labels))
        return 0.0

    handler = signal.getsignal(signal.SIGINT)
    for n_points in (1, 20):
        calls = []
        learner = LearnedLinkage(loss=swallowing)
        with pytest.raises(KeyboardInterrupt):
            learner.fit([X[0][:n_points], X[1]], [Y[0][:n_points], Y[1]])
        assert calls == [min(n_points, 16)]
        assert not hasattr(learner, "loss_")
        assert signal.getsignal(signal.SIGINT) is handler


@has_signals
def test_a_handler_that_does_not_raise_lets_a_fit_go_on():
    seen = []

    def signalling(Z, labels):
        signal.raise_signal(signal.SIGINT)
        return cut_loss(Z, labels)

    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        learner = LearnedLinkage(loss=signalling).fit(X[:2], Y[:2])
    finally:
        signal.signal(signal.SIGINT, before)
    expected = LearnedLinkage(loss=cut_loss).fit(X[:2], Y[:2])
    assert learned(learner) == learned(expected)
    assert seen


def test_a_fit_that_fails_stops_its_other_threads():
    started, n_calls = threading.Event(), [0]

    def endless(Z, labels):
        n_calls[0] += 1
        started.set()
        return float(n_calls[0])

    def failing(Z, labels):
        if len(labels) == len(Y[0]):
            assert started.wait(60)
            raise LookupError("enough")
        return endless(Z, labels)

    def nesting(Z, labels):
        if len(labels) == len(Y[0]):
            return failing(Z, labels)
        inner = LearnedLinkage(algorithm="execution_tree", loss=endless, n_jobs=2)
        return inner.fit([long, long], [labels, labels]).loss_

    long = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.arange(60) % 2
    for loss in (failing, nesting):
        started.clear()
        learner = LearnedLinkage(algorithm="execution_tree", loss=loss, n_jobs=2)
        with pytest.raises(LookupError, match="enough"):
            learner.fit([long, X[0]], [labels, Y[0]])
        n_then = n_calls[0]
        time.sleep(0.2)
        # Those at work at that time finish one tree.
        assert n_calls[0] <= n_then + 2


def test_fits_in_other_threads_are_not_disturbed_by_one_that_fails():
    both_there, one_failed = threading.Barrier(2, timeout=60), threading.Event()
    found = {}

    def waiting(Z, labels):
        if not one_failed.is_set():
            both_there.wait()
            assert one_failed.wait(60)
        return cut_loss(Z, labels)

    def failing(Z, labels):
        both_there.wait()
        raise LookupError("enough")

    def run(name, loss):
        learner = LearnedLinkage(loss=loss)
        try:
            found[name] = learned(learner.fit(X, Y))
        except LookupError as error:
            found[name] = str(error)
            one_failed.set()

    threads = [
        threading.Thread(target=run, args=("good", waiting)),
        threading.Thread(target=run, args=("bad", failing)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = learned(LearnedLinkage(loss=cut_loss).fit(X, Y))
    assert found == {"good": expected, "bad": "enough"}


# Stores.


@has_signals
@pytest.mark.parametrize("name", ["linkage", "scaled metric"])
def test_a_killed_fit_goes_on_from_the_curves_that_it_stored(
    name, tmp_path, engine_calls, start
):
    memory = str(tmp_path / "store")
    fatal = len(Y[3]), str(tmp_path / "met")
    process = start("store_until_killed", name, memory, *fatal)
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL

    loss = faulty.FatalOnce(*fatal)
    again = LEARNERS[name](memory=memory, loss=loss).fit(X, Y)
    assert engine_calls == [len(y) * (len(y) - 1) // 2 for y in Y[3:]]
    assert learned(again) == learned(LEARNERS[name](loss=loss).fit(X, Y))


@has_signals
def test_processes_that_share_a_store_do_not_harm_each_other(
    tmp_path, engine_calls, start
):
    n_rounds = 6
    args = str(tmp_path), [1, -1], n_rounds
    # One begins where the other ends, and a third one is killed at some moment.
    processes = [start("share_a_store", *args, step) for step in (1, -1)]
    victim = start("share_a_store", str(tmp_path), [], n_rounds, 2)
    while not (tmp_path / "2-2").exists():
        assert victim.poll() is None
        time.sleep(0.001)
    victim.kill()
    victim.communicate()
    found = [output(process) for process in processes]

    for i in range(n_rounds):
        instances = make_instances(n_instances=8, seed=i)
        expected = LearnedLinkage().fit(*instances)
        curves = [
            [curve.breakpoints.tolist(), curve.values.tolist()]
            for curve in expected.instance_curves_
        ]
        assert found[0][i] == found[1][i] == curves
        learner = LearnedLinkage(memory=str(tmp_path / "store"))
        assert learned(learner.fit(*instances)) == learned(expected)
        engine_calls.clear()
        assert learned(learner.fit(*instances)) == learned(expected)
        assert engine_calls == []


def cut_short(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def fill_with_noise(path):
    path.write_bytes(np.random.default_rng(0).bytes(path.stat().st_size))


def change_a_loss(path):
    """Change one bit of a number, so that the file can still be read."""
    stored = joblib.load(path)
    damaged = bytearray(path.read_bytes())
    at = damaged.find(stored.values.tobytes()) + stored.values.itemsize - 2
    damaged[at] ^= 1
    path.write_bytes(damaged)


@pytest.mark.parametrize("damage", [cut_short, empty, fill_with_noise, change_a_loss])
def test_damaged_curves_are_computed_again(
    name, damage, tmp_path, engine_calls, caplog
):
    make, memory = LEARNERS[name], str(tmp_path)
    expected = learned(make(memory=memory).fit(X, Y))
    paths = sorted(tmp_path.rglob("output.pkl"))
    assert len(paths) == len(X)
    for path in paths[:3]:
        damage(path)
    engine_calls.clear()
    assert learned(make(memory=memory).fit(X, Y)) == expected
    assert len(engine_calls) == 3
    assert caplog.text.count("Exception while loading results") == 3
    assert learned(make(memory=memory).fit(X, Y)) == expected
    assert len(engine_calls) == 3


def test_metadata_of_stored_curves_are_not_needed(name, tmp_path, engine_calls):
    make, memory = LEARNERS[name], str(tmp_path)
    expected = learned(make(memory=memory).fit(X, Y))
    for path in tmp_path.rglob("metadata.json"):
        path.unlink()
    engine_calls.clear()
    assert learned(make(memory=memory).fit(X, Y)) == expected
    assert engine_calls == []


def test_a_store_that_cannot_be_written_to_is_warned_of(name, tmp_path):
    make, memory = LEARNERS[name], str(tmp_path)
    expected = learned(make(memory=memory).fit(X, Y))
    # Directories are in the way of the curves.
    for path in tmp_path.rglob("output.pkl"):
        path.unlink()
        path.mkdir()
    with pytest.warns(Warning, match="Unable to cache to disk"):
        assert learned(make(memory=memory).fit(X, Y)) == expected

    # A file is in the way of all.
    (tmp_path / "other" / "joblib").mkdir(parents=True)
    (tmp_path / "other" / "joblib" / "sklearn_linkage_learn").touch()
    learner = make(memory=str(tmp_path / "other"))
    with pytest.warns(RuntimeWarning, match="A curve is not stored, as Memory.*other"):
        assert learned(learner.fit(X, Y)) == expected


def test_a_place_that_cannot_be_a_store_is_an_error(name, tmp_path, engine_calls):
    (tmp_path / "file").touch()
    learner = LEARNERS[name](memory=str(tmp_path / "file"))
    before = vars(learner).copy()
    with pytest.raises(OSError, match="file"):
        learner.fit(X, Y)
    assert vars(learner) == before
    assert engine_calls == []


def test_an_error_of_a_loss_is_not_taken_for_one_of_the_store(tmp_path, recwarn):
    learner = LearnedLinkage(memory=str(tmp_path), loss=missing_file)
    with pytest.raises(FileNotFoundError, match="of the loss"):
        learner.fit(X, Y)
    assert len(recwarn) == 0


def missing_file(Z, labels):
    raise FileNotFoundError("of the loss")


# Workers.


@has_signals
def test_a_fit_survives_the_death_of_a_worker(tmp_path, capfd):
    loss = faulty.FatalOnce(len(Y[3]), str(tmp_path / "met"))
    learner = LearnedLinkage(loss=loss, n_jobs=2, verbose=1)
    with joblib.parallel_config(backend="loky"):
        with pytest.warns(RuntimeWarning, match="A worker process died"):
            learner.fit(X, Y)
        assert (tmp_path / "met").exists()
        assert learned(learner) == learned(LearnedLinkage(loss=cut_loss).fit(X, Y))
        err = capfd.readouterr().err
        assert "5/5" in err
        assert "6/5" not in err

        # Other workers have taken over, and name the instance of an error.
        with pytest.raises(ValueError, match=r"^X\[3\]: loss .*: not this one$"):
            learner.set_params(loss=faulty.Refusing(len(Y[3]))).fit(X, Y)


class DyingWorkers:
    """A stand-in for Parallel that gives as many results as it is told, then dies."""

    def __init__(self, lives):
        self.lives = iter(lives)

    def __call__(self, n_jobs):
        return self.run

    def run(self, calls):
        n_results = next(self.lives)
        if n_results:
            yield from joblib.Parallel()(calls[:n_results])
        if n_results < len(calls):
            raise BrokenProcessPool("gone")


def test_deaths_are_counted_from_the_last_result_on(name, monkeypatch, engine_calls):
    expected = learned(LEARNERS[name]().fit(X, Y))
    engine_calls.clear()
    lives = [0, 0, 1, 0, 2, 0, 2]
    monkeypatch.setattr(_parallel, "_parallel", DyingWorkers(lives))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner = LEARNERS[name]().fit(X, Y)
    assert learned(learner) == expected
    assert len(engine_calls) == len(X)
    came = [str(warning.message).split(". ")[1] for warning in caught]
    assert came[2] == "1 of 5 results are there; going on from X[1]."
    assert came[-1] == "3 of 5 results are there; going on from X[3]."
    assert len(came) == len(lives) - 1


@pytest.mark.filterwarnings("ignore:A worker process died")
def test_a_fit_gives_up_on_workers_that_die_again_and_again(name, monkeypatch):
    learner = LEARNERS[name]()
    before = vars(learner).copy()
    workers = DyingWorkers([2] + [0] * 10)
    monkeypatch.setattr(_parallel, "_parallel", workers)
    with pytest.raises(BrokenProcessPool, match=r"X\[2\]: worker processes died 3"):
        learner.fit(X, Y)
    assert len(list(workers.lives)) == 8
    assert vars(learner) == before


def test_backends_that_only_have_all_results_at_once_can_be_used(name):
    class Listing(ThreadingBackend):
        supports_return_generator = False

    joblib.register_parallel_backend("listing", Listing)
    expected = learned(LEARNERS[name]().fit(X, Y))
    with joblib.parallel_config(backend="listing"):
        assert learned(LEARNERS[name](n_jobs=2).fit(X, Y)) == expected
