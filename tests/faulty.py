"""Losses that fail and programs that are made to, which `test_faults` runs.

Workers and joblib's memory find a loss by its name, so that it has to be in a module.
"""

import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from learners import LEARNERS, learned, make_instances

from sklearn_linkage_learn import LearnedLinkage, LearnedMetricLinkage
from sklearn_linkage_learn._core.memory import idle_bytes
from sklearn_linkage_learn.losses import cut_loss


@dataclass(frozen=True)
class FatalOnce:
    """The cut loss; the first time that it meets its instance it kills its process."""

    n_points: int
    met: str

    def __call__(self, Z, labels):
        if len(labels) == self.n_points and not os.path.exists(self.met):
            Path(self.met).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return cut_loss(Z, labels)


@dataclass(frozen=True)
class Fatal:
    """The cut loss, but the end of the process that meets its instance."""

    n_points: int

    def __call__(self, Z, labels):
        if len(labels) == self.n_points:
            os.kill(os.getpid(), signal.SIGKILL)
        return cut_loss(Z, labels)


@dataclass(frozen=True)
class Refusing:
    """The cut loss, but an error for its instance."""

    n_points: int

    def __call__(self, Z, labels):
        if len(labels) == self.n_points:
            raise ValueError("not this one")
        return cut_loss(Z, labels)


def store_until_killed(learner, memory, *fatal):
    LEARNERS[learner](memory=memory, loss=FatalOnce(*fatal)).fit(*make_instances())


def share_a_store(here, others, n_rounds, step):
    """Fit at the same time as others; print what was learned."""
    found = []
    for i in range(n_rounds):
        X, Y = make_instances(n_instances=8, seed=i)
        Path(here, f"{step}-{i}").touch()
        while not all(Path(here, f"{other}-{i}").exists() for other in others):
            time.sleep(0.001)
        learner = LearnedLinkage(memory=str(Path(here, "store")))
        curves = learner.fit(X[::step], Y[::step]).instance_curves_[::step]
        found.append([(c.breakpoints.tolist(), c.values.tolist()) for c in curves])
    print(json.dumps(found))


def slow_metric(u, v):
    return float(abs(u - v).sum())


def long_fits(memory):
    """Learners and the instances that they take long for, by what takes long."""
    rng = np.random.default_rng(0)

    def instances(n, n_features, n_labels=3, count=2):
        X = rng.normal(size=(count, n, n_features))
        return X, np.arange(count * n).reshape(count, n) % n_labels

    of_metrics = partial(LearnedMetricLinkage, ("euclidean", "cityblock"))
    return {
        "distances": (LearnedLinkage(metric="mahalanobis"), instances(3000, 120)),
        "callable metric": (LearnedLinkage(metric=slow_metric), instances(2500, 4)),
        "kinetic": (LearnedLinkage(), instances(1500, 4)),
        "greedy": (LearnedLinkage(("single", "average")), instances(1500, 4)),
        "envelope": (of_metrics(), instances(1500, 4)),
        "spanning tree": (of_metrics(linkage="single"), instances(1500, 4)),
        "execution tree": (
            LearnedLinkage(algorithm="execution_tree"),
            instances(1500, 4),
        ),
        "many labels": (LearnedLinkage(), instances(1500, 4, n_labels=50)),
        "small instances": (
            LearnedLinkage(memory=memory),
            instances(15, 4, count=500),
        ),
    }


def interrupt_fits(memory):
    """Interrupt fits by real signals; print how that went, by name and n_jobs."""
    # Whoever ignores Ctrl-C has children that do.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    reports = {}
    for name, (learner, long_instances) in long_fits(memory).items():
        for n_jobs, method in ((1, "fit"), (2, "partial_fit")):
            learner.set_params(n_jobs=n_jobs)
            report = interrupt_fit(learner, method, long_instances)
            reports[f"{name}, n_jobs={n_jobs}"] = report
    print(json.dumps(reports))


def interrupt_fit(learner, method, long_instances):
    rng = np.random.default_rng(0)
    # Reading the long instances changes the number of features, in `fit`.
    n_features = long_instances[0].shape[2] - (method == "fit")
    small = (
        rng.normal(size=(2, n_features + 2, n_features)),
        [np.arange(n_features + 2) % 2] * 2,
    )
    state = learned(learner.fit(*small))
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.1, send).start()
    try:
        while True:
            before = vars(learner).copy()
            getattr(learner, method)(*long_instances)
    except KeyboardInterrupt:
        latency = time.monotonic() - sent[0]
    return {
        "latency": latency,
        "is unchanged": vars(learner) == before,
        "idle bytes": idle_bytes(),
        "until quiet": latency + seconds_until_quiet(),
        "works again": learned(learner.fit(*small)) == state,
    }


def seconds_until_quiet():
    """How long the process goes on working, 60 at most."""
    start = time.monotonic()
    while time.monotonic() < start + 60:
        used = time.process_time()
        time.sleep(0.05)
        if time.process_time() - used < 0.02:
            break
    return time.monotonic() - start
