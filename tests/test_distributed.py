"""Learning on clusters of processes: the same results, also if workers die."""

import logging
import os
import runpy
import signal
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import faulty
import joblib
import numpy as np
import pytest
from learners import LEARNERS, X, Y, learned, make_instances, object_array
from scipy.spatial.distance import pdist, squareform
from sklearn.model_selection import GridSearchCV
from test_determinism import LEARNERS as ALL_LEARNERS
from test_determinism import all_bits

import sklearn_linkage_learn
from sklearn_linkage_learn import LearnedLinkage, _limits
from sklearn_linkage_learn.losses import cut_loss

has_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
# What takes no time may take some on a machine that is busy with other things.
GENEROUS = 60.0
# So may new workers, after deaths.
DASK = {"backend": "dask", "wait_for_workers_timeout": 120}


@pytest.fixture(params=LEARNERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def client():
    """A client of a cluster that gives up on a task after two deaths."""
    pytest.importorskip("distributed")
    import dask
    from distributed import Client, LocalCluster

    options = {
        "distributed.scheduler.allowed-failures": 1,
        # A local cluster lets go of a worker that is absent now and was that long ago,
        # though it was there in between and is about to start again.
        "distributed.deploy.lost-worker-timeout": "1 day",
    }
    with (
        dask.config.set(options),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def on_dask(client):
    with joblib.parallel_config(**DASK):
        yield client


@pytest.fixture(scope="module")
def ray_cluster():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    # Workers have to find the same package and these tests.
    paths = [Path(__file__).parent, Path(sklearn_linkage_learn.__file__).parents[1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, paths)))
        # Where ray starts, workers look first, and a checkout may have no core.
        patch.chdir(paths[0])
        # Workers give way to whatever else runs, by default, and one that takes a
        # minute to start is given up and started again, for ever on a busy machine.
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_worker_register_timeout_seconds", "600")
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            logging_level=logging.CRITICAL,
            log_to_driver=False,
        )
    yield
    ray.shutdown()


@pytest.fixture
def on_ray(ray_cluster):
    with joblib.parallel_config(backend="ray", n_jobs=2):
        yield


def long_instances():
    """Instances that the execution tree takes hours for, and parts of it seconds."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(6, 1500, 4)), np.arange(6 * 1500).reshape(6, -1) % 3


@pytest.mark.parametrize("name", ALL_LEARNERS)
def test_results_do_not_depend_on_a_dask_cluster(name, client):
    make = ALL_LEARNERS[name]
    expected = all_bits(make().fit(X, Y))
    with joblib.parallel_config(**DASK):
        assert all_bits(make().fit(X, Y)) == expected


def test_searches_on_a_dask_cluster_can_have_fits_that_use_it_too(client):
    search = GridSearchCV(LearnedLinkage(), {"loss": ["cut", "ari"]}, cv=2)
    points, labels = map(object_array, make_instances(n_instances=4))
    expected = search.fit(points, labels).cv_results_["mean_test_score"]
    with joblib.parallel_config(**DASK):
        found = search.fit(points, labels).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, expected)


def test_matrices_larger_than_dask_likes_are_sent_without_a_warning(client):
    points, labels = make_instances(n_instances=2, n=1200)
    matrices = [squareform(pdist(p)) for p in points]
    assert matrices[0].nbytes > 10e6
    learner = LearnedLinkage(metric="precomputed")
    expected = learned(learner.fit(matrices, labels))
    with joblib.parallel_config(**DASK):
        assert learned(learner.fit(matrices, labels)) == expected


@pytest.mark.usefixtures("on_dask")
def test_errors_of_dask_workers_name_the_instance(name):
    learner = LEARNERS[name](loss=faulty.Refusing(len(Y[3])))
    before = vars(learner).copy()
    with pytest.raises(ValueError, match=r"^X\[3\]: loss .*: not this one$"):
        learner.fit(X, Y)
    assert vars(learner) == before


@has_signals
@pytest.mark.usefixtures("on_dask")
def test_a_fit_survives_the_death_of_a_dask_worker(name, tmp_path, recwarn):
    loss = faulty.FatalOnce(len(Y[3]), str(tmp_path / "met"))
    learner = LEARNERS[name](loss=loss).fit(X, Y)
    assert (tmp_path / "met").exists()
    with joblib.parallel_config(backend="threading"):
        assert learned(learner) == learned(LEARNERS[name](loss=cut_loss).fit(X, Y))
    assert len(recwarn) == 0


@has_signals
@pytest.mark.usefixtures("on_dask")
def test_a_fit_gives_up_on_an_instance_that_kills_dask_workers():
    learner = LearnedLinkage(loss=faulty.Fatal(len(Y[3])))
    before = vars(learner).copy()
    # Others may have waited for the same workers.
    message = r"^(X\[\d\] or )*X\[3\]( or X\[\d\])*: 2 workers died at work"
    with pytest.raises(BrokenProcessPool, match=message):
        learner.fit(X, Y)
    assert vars(learner) == before
    # The cluster has new workers.
    LearnedLinkage().fit(X, Y)


@has_signals
def test_ctrl_c_ends_a_fit_and_frees_a_dask_cluster(on_dask):
    sent = []

    def send():
        while not any(on_dask.processing().values()):
            time.sleep(0.01)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    learner = LearnedLinkage().fit(X, Y)
    before = vars(learner).copy()
    thread = threading.Thread(target=send)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        learner.set_params(algorithm="execution_tree").fit(*long_instances())
    assert time.monotonic() - sent[0] < GENEROUS
    assert vars(learner) == {**before, "algorithm": "execution_tree"}
    thread.join()
    learner.fit(X, Y)
    assert time.monotonic() - sent[0] < GENEROUS


def test_an_error_ends_the_work_of_other_dask_workers(on_dask):
    points, labels = long_instances()
    loss = faulty.Refusing(len(Y[3]))
    learner = LearnedLinkage(loss=loss, algorithm="execution_tree")
    start = time.monotonic()
    with pytest.raises(ValueError, match=r"^X\[1\]: loss"):
        learner.fit([points[0], X[3][:, [0, 1, 0, 1]]], [labels[0], Y[3]])
    while any(on_dask.processing().values()):
        time.sleep(0.01)
    on_dask.submit(sum, [1, 2]).result()
    LearnedLinkage().fit(X, Y)
    assert time.monotonic() - start < GENEROUS


def test_dask_workers_share_a_store(name, client, tmp_path, engine_calls):
    learner = LEARNERS[name](memory=str(tmp_path))
    with joblib.parallel_config(**DASK):
        # joblib may drop what is stored if two processes begin a new store at once.
        learner.fit(X[:1], Y[:1])
        found = learned(learner.fit(X, Y))
    assert learned(learner.fit(X, Y)) == found
    assert engine_calls == []
    assert learned(LEARNERS[name]().fit(X, Y)) == found


def set_memory(n_bytes):
    _limits._SMALL = 0 if n_bytes else 2**26
    _limits.available_bytes = (lambda: n_bytes) if n_bytes else AVAILABLE


AVAILABLE = _limits.available_bytes


def test_the_memory_of_dask_workers_counts_and_not_that_of_the_client(client):
    learner = LearnedLinkage()
    try:
        set_memory(1)
        with pytest.raises(MemoryError):
            learner.fit(X, Y)
        with joblib.parallel_config(**DASK):
            learner.fit(X, Y)
            set_memory(None)
            client.run(set_memory, 1)
            with pytest.raises(MemoryError, match=r"^X\[\d\]: Computing distances"):
                learner.fit(X, Y)
    finally:
        set_memory(None)
        client.run(set_memory, None)


# A call on ray takes seconds, to start workers; what other learners send to workers is
# tested with dask.
@pytest.mark.usefixtures("ray_cluster")
def test_results_do_not_depend_on_a_ray_cluster():
    learner = LEARNERS["scaled metric"]()
    expected = learned(learner.fit(X, Y))
    labels = learner.predict(X)
    with joblib.parallel_config(backend="ray", n_jobs=2):
        assert learned(learner.fit(X, Y)) == expected
        for found, clusters in zip(learner.predict(X), labels, strict=True):
            np.testing.assert_array_equal(found, clusters)


@pytest.mark.usefixtures("on_ray")
def test_errors_of_ray_workers_name_the_instance():
    learner = LearnedLinkage(loss=faulty.Refusing(len(Y[3])))
    before = vars(learner).copy()
    with pytest.raises(ValueError, match=r"^X\[3\]: loss .*: not this one$"):
        learner.fit(X, Y)
    assert vars(learner) == before


@has_signals
@pytest.mark.usefixtures("on_ray")
def test_a_fit_survives_the_death_of_a_ray_worker(tmp_path):
    loss = faulty.FatalOnce(len(Y[3]), str(tmp_path / "met"))
    with pytest.warns(RuntimeWarning, match="A worker process died"):
        learner = LearnedLinkage(loss=loss).fit(X, Y)
    assert (tmp_path / "met").exists()
    expected = LearnedLinkage(loss=cut_loss, n_jobs=1).fit(X, Y)
    assert learned(learner) == learned(expected)


def test_the_example_learns_on_a_cluster(monkeypatch, capsys):
    pytest.importorskip("distributed")
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)
    example = Path(__file__).parents[1] / "doc" / "examples" / "plot_distributed.py"
    runpy.run_path(str(example), run_name="__main__")
    assert "equal: True" in capsys.readouterr().out
    assert plt.get_fignums()
