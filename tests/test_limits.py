"""What does not fit into memory is refused, and estimates are what is really taken."""

import gc
import os
import pickle
import re
import subprocess
import sys
import textwrap
import tracemalloc
import weakref
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sklearn_linkage_learn import (
    InterpolatedLinkage,
    LearnedLinkage,
    LearnedMetricLinkage,
    _limits,
    metrics,
)
from sklearn_linkage_learn._core.memory import Workspace, kept_blocks
from sklearn_linkage_learn._distances import condensed_distances
from sklearn_linkage_learn._errors import blame
from sklearn_linkage_learn._families import merge_curve, metric_curve, mixed_linkage
from sklearn_linkage_learn.datasets import make_rings_and_disks
from sklearn_linkage_learn.losses import hamming_loss, make_loss

SIZES = (10, 20, 40, 30)
RNG = np.random.default_rng(0)
X = [RNG.normal(size=(n, 2)) for n in SIZES]
Y = [np.arange(n) % 2 for n in SIZES]
LEARNERS = {
    "linkages": LearnedLinkage(),
    "metrics": LearnedMetricLinkage(),
    "scaled metrics": LearnedMetricLinkage(normalize="mean"),
    "execution tree": LearnedLinkage(algorithm="execution_tree"),
}


@pytest.fixture
def room(monkeypatch):
    """A function that sets how many bytes are available, also for small needs."""
    monkeypatch.setattr(_limits, "_SMALL", 0)

    def set_room(n_bytes):
        monkeypatch.setattr(_limits, "available_bytes", lambda: n_bytes)

    return set_room


def refusal(call, *args, **kwargs):
    with pytest.raises(MemoryError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize(
    "method, labelled",
    [
        ("fit", True),
        ("partial_fit", True),
        ("fit_predict", True),
        ("score", True),
        ("predict", False),
        ("fit_predict", False),
        ("linkage_matrix", False),
    ],
)
def test_an_instance_that_is_too_large_is_refused_before_work(
    room, request, learner, method, labelled
):
    learner.fit(X[:1], Y[:1])
    state = pickle.dumps(learner)
    request.getfixturevalue("no_work")
    learns = labelled and method != "score"
    room(30**2 * getattr(learner._family, "curve_bytes" if learns else "tree_bytes"))
    message = refusal(getattr(learner, method), *(X, Y)[: 2 if labelled else 1])
    work = "Learning from" if learns else "Clustering"
    assert message.startswith(f"X[2]: {work} 40 points takes about ")
    assert re.search("GB of memory, .* GB are available. .* sample of", message)
    assert pickle.dumps(learner) == state


def test_a_group_and_a_single_instance_are_named(room, no_work):
    room(10_000)
    table, labels = np.concatenate(X), np.concatenate(Y)
    groups = np.repeat([4, 5, 6, 7], SIZES)
    message = refusal(LearnedLinkage().fit, table, labels, groups)
    assert message.startswith("X[groups == 6]: Learning from 40 points")
    assert refusal(LearnedLinkage().fit, X[2], Y[2]).startswith("X: Learning from 40")
    for params in ({}, {"metric": ["l1", "l2"], "scale": [1, 2]}, {"linkages": "ward"}):
        clusterer = InterpolatedLinkage(**params)
        message = refusal(clusterer.fit, X[2])
        assert message.startswith("X: Clustering 40 points takes about")
        assert vars(clusterer) == vars(InterpolatedLinkage(**params))


def test_a_picture_that_is_too_large_is_refused_before_work(room, request):
    plotting = pytest.importorskip("sklearn_linkage_learn.plotting")
    pytest.importorskip("matplotlib")
    learner = LearnedLinkage().fit(X[:1], Y[:1])
    request.getfixturevalue("no_work")
    room(10_000)
    for display, work in [
        (plotting.ClusterStripDisplay, "Drawing"),
        (plotting.DendrogramDisplay, "Clustering"),
    ]:
        message = refusal(display.from_estimator, learner, X[2], Y[2])
        assert message.startswith(f"X: {work} 40 points takes about ")


def test_the_sample_that_is_advised_fits(room):
    rng = np.random.default_rng(1)
    points, labels = rng.normal(size=(1000, 2)), np.arange(1000) % 3
    for work, needed in [
        (lambda n: LearnedLinkage().fit(points[:n], labels[:n]), 36),
        (lambda n: InterpolatedLinkage().fit(points[:n]), 12),
        (lambda n: metrics.pairwise(range(n), lambda a, b: 1.0), 11),
    ]:
        room(needed * 150**2)
        most = int(re.search("at most ([0-9]+) ", refusal(work, 1000))[1])
        assert 130 <= most <= 150
        work(most)


def test_instances_that_only_fit_one_by_one_need_fewer_jobs(room):
    learner = LearnedLinkage(n_jobs=4)
    # The two largest at once, of 40 and 30 points, and no third one.
    room(1.1 * learner._make_family().curve_bytes * (40**2 + 30**2))
    message = refusal(learner.fit, X, Y)
    assert message.startswith("n_jobs=4: Learning from 4 instances at once, X[2] among")
    assert message.endswith("Use n_jobs=2.")
    expected = LearnedLinkage().fit(X, Y).alpha_
    assert learner.set_params(n_jobs=2).fit(X, Y).alpha_ == expected
    with joblib.parallel_config("threading", n_jobs=3):
        assert refusal(LearnedLinkage().fit, X, Y).startswith("n_jobs=3: ")


def test_other_processes_check_for_themselves(monkeypatch, room):
    def fail():
        raise AssertionError("the memory of this process is not asked for")

    room(0)
    monkeypatch.setattr(_limits, "available_bytes", fail)
    with joblib.parallel_config("loky", n_jobs=2):
        _limits.check_room_for_all(np.array([1e15]), "Clustering", None, None)


N = 250
POINTS, LABELS = RNG.normal(size=(N, 2)), np.arange(N) % 3
# With near duplicates, sums of distances need more than two doubles.
CLOSE = np.concatenate([POINTS[:-1], POINTS[:1] * (1 + 1e-15)])
D, FAR = pdist(POINTS), pdist(CLOSE)
KERNEL = make_loss("hamming", LABELS)
CUT, SINGLE, MEANS = ("single", "complete"), ("single", "average"), ([0.5, 0.5],)


@pytest.mark.parametrize(
    "work, call, least, most",
    [
        ("Computing distances of", lambda: condensed_distances(POINTS, "l1"), 3, 4.1),
        ("Learning from", lambda: merge_curve(D, CUT, KERNEL), 31, 33),
        ("Learning from", lambda: merge_curve(D, SINGLE, KERNEL), 47, 49),
        ("Learning from", lambda: merge_curve(FAR, SINGLE, KERNEL), 63, 81),
        ("Learning from", lambda: metric_curve([D, D], "average", KERNEL), 63, 65),
        ("Learning from", lambda: metric_curve([D, D], "single", KERNEL), 9, 11),
        ("Clustering", lambda: mixed_linkage([D], CUT, *MEANS), 9, 11),
        ("Clustering", lambda: mixed_linkage([FAR], SINGLE, *MEANS), 13, 17),
        ("Computing losses of", lambda: make_loss("cut", range(N)), 19, 20.1),
        ("Computing losses of", lambda: make_loss("hamming", range(N)), 67, 68.1),
        ("Computing losses of", lambda: make_loss("majority", range(N)), 35, 36.1),
    ],
)
def test_every_step_is_refused_that_takes_too_much(room, work, call, least, most):
    room(least * N**2)
    assert refusal(call).startswith(f"{work} {N} points takes about")
    room(most * N**2)
    call()


def test_functions_of_objects_are_refused(room):
    room(10_000)
    message = refusal(metrics.pairwise, range(40), [max, min])
    assert message.startswith("objects: Computing distances of 40 points takes about")
    message = refusal(metrics.stroke_distances, [[[0, 0]]] * 40)
    assert message.startswith("trajectories: Computing distances of 40 points takes")


def test_nothing_large_is_allocated_before_a_refusal():
    points = np.zeros((2_000_000, 2))
    tracemalloc.start()
    try:
        for estimator in (LearnedLinkage(), LearnedMetricLinkage()):
            message = refusal(estimator.fit, points, points[:, 0])
            assert message.startswith("X: Learning from 2,000,000 points takes about")
        message = refusal(InterpolatedLinkage().fit, points)
        assert message.startswith("X: Clustering 2,000,000 points takes about")
        assert tracemalloc.get_traced_memory()[1] < 4 * points.nbytes
    finally:
        tracemalloc.stop()


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


@pytest.fixture
def groups(monkeypatch, tmp_path):
    """A machine with much memory, and control groups in a directory."""
    memory = type("Memory", (), {"available": 1000})
    monkeypatch.setattr(_limits.psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(_limits, "_GROUP_LIST", tmp_path / "list")
    monkeypatch.setattr(_limits, "_GROUP_ROOT", tmp_path / "root")
    monkeypatch.setattr(_limits, "resource", None)
    return tmp_path


STAT = "anon 7\ninactive_file 20\nactive_file 10\n"


@pytest.mark.parametrize(
    "path, limits, expected",
    [
        ("/", {"": "max"}, 1000),
        ("/", {"": "500"}, 430),
        ("/", {"": "50"}, 0),
        ("/user/app", {"": "max", "user": "max", "user/app": "500"}, 430),
        ("/user/app", {"": "max", "user": "300", "user/app": "500"}, 230),
        ("/user/app", {"user": "300"}, 230),
        ("/seen/from/outside", {"": "500"}, 430),
    ],
)
def test_limits_of_control_groups_count(groups, path, limits, expected):
    write(groups, list=f"0::{path}\n")
    for folder, limit in limits.items():
        files = {"memory__max": limit, "memory__current": "100", "memory__stat": STAT}
        write(groups / "root" / folder, **files)
    assert _limits.available_bytes() == expected


def test_limits_of_older_control_groups_count(groups):
    write(groups, list="4:memory:/app\n3:cpu,cpuacct:/\n0::/\n")
    write(
        groups / "root" / "memory" / "app",
        memory__limit_in_bytes="500",
        memory__usage_in_bytes="100",
        memory__stat="total_inactive_file 20\ntotal_active_file 10\nactive_file 5\n",
    )
    assert _limits.available_bytes() == 430
    write(groups / "root" / "memory" / "app", memory__limit_in_bytes=str(2**63 - 4096))
    assert _limits.available_bytes() == 1000


def test_blocks_that_wait_are_available(groups):
    assert _limits.available_bytes() == 1000
    with kept_blocks():
        Workspace(1, 1000)
        assert _limits.available_bytes() == 9000


def test_this_machine_has_some_memory():
    assert 2**20 < _limits.available_bytes() < 2**60


def run(code, **values):
    """Run code in a fresh process, after some names were given values.

    Threads share one heap, which does not grow with their number.
    """
    given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    return subprocess.run(
        [sys.executable, "-c", given + textwrap.dedent(code)],
        cwd=Path(__file__).parent,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "MALLOC_ARENA_MAX": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


PEAK = """
    import numpy as np
    from sklearn_linkage_learn import LearnedLinkage, LearnedMetricLinkage

    def peak():
        status = open("/proc/self/status").read()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 2)), rng.integers(0, 4, size=n)
    learner = eval(learner).fit(X[:100], y[:100])
    learner.predict(X[:100])
    before = peak()
    learner.fit(X, y) if work == "curve" else learner.predict(X)
    needed = getattr(learner._family, f"{work}_bytes") * n**2
    print(needed / (peak() - before))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "learner, work",
    [
        ("LearnedLinkage()", "curve"),
        ("LearnedLinkage(('average', 'complete'))", "curve"),
        ("LearnedLinkage()", "tree"),
        ("LearnedMetricLinkage()", "curve"),
        ("LearnedMetricLinkage(normalize='mean')", "tree"),
    ],
)
def test_estimates_are_what_is_really_taken(learner, work):
    done = run(PEAK, learner=learner, work=work, n=1600)
    assert 0.8 < float(done.stdout or "nan") < 1.5, done.stderr


NO_ADDRESSES = """
    import math, pickle, psutil, resource
    import numpy as np
    from sklearn_linkage_learn import LearnedLinkage, _limits
    from sklearn_linkage_learn._core.memory import idle_bytes

    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) for n in (50, 2000)]
    y = [rng.integers(0, 4, size=len(x)) for x in X]
    learner = LearnedLinkage(n_jobs=n_jobs).fit(X[:1], y[:1])
    state = pickle.dumps(learner)

    def refused():
        try:
            learner.fit(X, y)
        except MemoryError as error:
            assert pickle.dumps(learner) == state
            assert idle_bytes() == 0
            return str(error)

    memory = psutil.Process().memory_info
    resource.setrlimit(resource.RLIMIT_AS, (memory().vms + 100_000_000, -1))
    message = refused()
    assert message.startswith("X[1]: Learning from 2,000 points takes"), message

    # The core itself finds that there is no memory.
    _limits.available_bytes = lambda: math.inf
    for attempt in range(40):
        message = refused()
        assert message.startswith("X[1]: "), message
        if attempt == 15:
            before = memory().rss
    # The heap may keep the room of one matrix, 16 MB, for the next one.
    assert memory().rss < before + 24_000_000
    assert learner.partial_fit(X[:1], y[:1]).n_instances_ == 2
"""


@pytest.mark.skipif(sys.platform != "linux", reason="others do not limit addresses")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_memory_that_the_core_cannot_have_is_an_error_without_a_trace(n_jobs):
    done = run(NO_ADDRESSES, n_jobs=n_jobs)
    assert done.returncode == 0, done.stderr


def test_what_failed_work_has_allocated_is_free_without_a_garbage_collection():
    def work():
        array = np.zeros(3)
        alive.append(weakref.ref(array))
        raise ValueError("enough")

    alive = []
    gc.disable()
    try:
        with blame("X[0]"), blame("inside"):
            work()
    except ValueError as error:
        message = str(error)
    finally:
        gc.enable()
    assert message == "X[0]: inside: enough"
    assert alive[0]() is None


def test_a_large_instance_is_learned_exactly():
    X, y = make_rings_and_disks(1, n_per_cluster=600, random_state=0)
    learner = LearnedLinkage().fit(X, y)
    curve = learner.loss_curve_
    assert curve.n_pieces > 50
    middles = (curve.breakpoints[1:] + curve.breakpoints[:-1]) / 2
    for alpha in [0, *middles[:: len(middles) // 5], learner.alpha_, 1]:
        clusterer = InterpolatedLinkage(4, linkages=("single", "complete"), alpha=alpha)
        assert hamming_loss(clusterer.fit(X[0]).linkage_matrix_, y[0]) == curve(alpha)
