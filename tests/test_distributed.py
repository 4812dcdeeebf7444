"""Fits on real clusters of processes, of dask and of ray."""

import logging
import os
import signal
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pytest
from learners import LEARNERS, X, Y, learned, make_instances

from sklearn_linkage_learn import LearnedLinkage
from sklearn_linkage_learn.losses import cut_loss

has_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
N_WORKERS = 2


@pytest.fixture(scope="module")
def dask_cluster():
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    # A task that has been on two dead workers is given up.
    failures = {"distributed.scheduler.allowed-failures": 1}
    with (
        dask.config.set(failures),
        distributed.LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ray_cluster():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(
        num_cpus=N_WORKERS,
        include_dashboard=False,
        logging_level=logging.CRITICAL,
        log_to_driver=False,
        configure_logging=False,
    )
    register_ray()
    yield ray
    ray.shutdown()


@pytest.fixture(params=["dask", "ray"])
def on_cluster(request):
    """A context in which work is done on a cluster."""
    request.getfixturevalue(f"{request.param}_cluster")
    with joblib.parallel_config(backend=request.param, n_jobs=N_WORKERS):
        yield


@pytest.mark.usefixtures("on_cluster")
def test_results_on_a_cluster_are_the_same_to_the_last_bit():
    make = LEARNERS["scaled metric"]
    with joblib.parallel_config(backend="sequential"):
        expected = make().fit(X, Y)
        labels, score = expected.predict(X), expected.score(X, Y)
    learner = make().fit(X, Y)
    assert learned(learner) == learned(expected)
    for ours, theirs in zip(learner.predict(X), labels, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert learner.score(X, Y) == score


@pytest.mark.usefixtures("on_cluster")
def test_errors_on_a_cluster_name_the_instance():
    bad = [x.copy() for x in X]
    bad[3][1] = 0
    learner = LearnedLinkage(metric="cosine")
    before = vars(learner).copy()
    with pytest.raises(ValueError, match=r"X\[3\]: metric 'cosine' gives nan"):
        learner.fit(bad, Y)
    assert vars(learner) == before


def deadly_loss(n_points, marker=None):
    """A loss that kills the process that computes it, once if there is a marker."""

    def loss(Z, labels):
        if len(labels) == n_points and (marker is None or not os.path.exists(marker)):
            if marker is not None:
                with open(marker, "w"):
                    pass
            os.kill(os.getpid(), signal.SIGKILL)
        return cut_loss(Z, labels)

    return loss


@has_signals
@pytest.mark.usefixtures("on_cluster")
@pytest.mark.filterwarnings("ignore:A worker process died:RuntimeWarning")
def test_a_fit_survives_the_death_of_a_worker(tmp_path):
    marker = str(tmp_path / "died")
    learner = LearnedLinkage(loss=deadly_loss(len(X[3]), marker)).fit(X, Y)
    assert os.path.exists(marker)
    with joblib.parallel_config(backend="sequential"):
        expected = LearnedLinkage(loss=cut_loss).fit(X, Y)
    assert learned(learner) == learned(expected)


@has_signals
@pytest.mark.usefixtures("on_cluster")
@pytest.mark.filterwarnings("ignore:A worker process died:RuntimeWarning")
def test_an_instance_that_kills_all_workers_is_an_error():
    learner = LearnedLinkage()
    learner.set_params(loss=deadly_loss(len(X[3])))
    before = vars(learner).copy()
    with pytest.raises(BrokenProcessPool, match=r"X\[\d\]: .* died"):
        learner.fit(X, Y)
    assert vars(learner) == before
    # Workers are back.
    assert LearnedLinkage().fit(X[:2], Y[:2]).n_instances_ == 2


@has_signals
@pytest.mark.usefixtures("on_cluster")
def test_ctrl_c_ends_a_fit_on_a_cluster():
    def slow_loss(Z, labels):
        time.sleep(0.05)
        return 0.0

    points, labels = make_instances(n_instances=40)
    learner = LearnedLinkage(loss=slow_loss)
    before = vars(learner).copy()
    timer = threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        learner.fit(points, labels)
    assert time.perf_counter() - start < 10
    assert vars(learner) == before
    assert LearnedLinkage().fit(X[:2], Y[:2]).n_instances_ == 2


@pytest.mark.usefixtures("on_cluster")
def test_workers_share_a_store_of_curves(tmp_path, engine_calls):
    learner = LearnedLinkage(memory=str(tmp_path)).fit(X, Y)
    assert engine_calls == []
    with joblib.parallel_config(backend="sequential"):
        again = LearnedLinkage(memory=str(tmp_path)).fit(X, Y)
    assert engine_calls == []
    assert learned(again) == learned(learner)
