import pickle
import sys
import threading
import time
import warnings
from concurrent.futures.process import BrokenProcessPool

import joblib
import numpy as np
import pytest
from learners import LEARNERS, X, Y, learned
from sklearn import config_context, get_config

from sklearn_linkage_learn import LearnedLinkage, _parallel
from sklearn_linkage_learn._parallel import map_instances
from sklearn_linkage_learn.losses import cut_loss

NAMES = [f"X[{i}]" for i in range(5)]
NUMBERS = [(i,) for i in range(5)]


def test_instances_are_worked_on_at_once():
    meeting = threading.Barrier(2, timeout=60)

    def waiting(Z, labels):
        if threading.get_ident() not in seen:
            seen.append(threading.get_ident())
            meeting.wait()
        return cut_loss(Z, labels)

    seen = []
    learner = LearnedLinkage(loss=waiting, n_jobs=2).fit(X[:2], Y[:2])
    assert len(seen) == 2
    assert learned(learner) == learned(LearnedLinkage(loss=cut_loss).fit(X[:2], Y[:2]))


def test_other_threads_go_on_while_the_core_works():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(2500, 2)), np.arange(2500) % 2
    thread = threading.Thread(target=LearnedLinkage().fit, args=(points, labels))
    interval, n_turns = sys.getswitchinterval(), 0
    # Others have a turn only if a thread gives its own away.
    sys.setswitchinterval(1000)
    try:
        thread.start()
        while thread.is_alive():
            time.sleep(0.001)
            n_turns += 1
    finally:
        sys.setswitchinterval(interval)
    assert n_turns > 20


def test_results_are_in_order_and_listeners_hear_of_each():
    def late(i):
        time.sleep(0.02 * (i == 0))
        return -i

    for n_jobs in (1, 2):
        heard = []
        assert map_instances(late, NAMES, NUMBERS, n_jobs, [heard.append]) == [
            0,
            -1,
            -2,
            -3,
            -4,
        ]
        assert sorted(heard) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_have_the_configuration_of_scikit_learn(backend):
    with config_context(working_memory=77), joblib.parallel_config(backend=backend):
        found = map_instances(get_config, NAMES, [()] * 5, n_jobs=2)
    assert [config["working_memory"] for config in found] == [77] * 5


def test_threads_leave_filters_of_warnings_alone():
    # A list that is changed and one that is put in its place would both be for all.
    before = warnings.filters, list(warnings.filters)
    found = map_instances(
        lambda i: (warnings.filters, list(warnings.filters)), NAMES, NUMBERS, n_jobs=2
    )
    for filters, content in [*found, (warnings.filters, list(warnings.filters))]:
        assert filters is before[0]
        assert content == before[1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_a_listener_is_all_that_is_heard(n_jobs, recwarn):
    go_on = threading.Event()

    def compute(i):
        assert i == 0 or n_jobs == 1 or go_on.wait(60)

    def complain(i):
        threading.Timer(0.1, go_on.set).start()
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        map_instances(compute, NAMES, NUMBERS, n_jobs, [complain])
    assert len(recwarn) == 0


@pytest.mark.filterwarnings("ignore:A worker process died")
def test_what_came_before_a_death_is_not_computed_again(monkeypatch):
    computed = []

    def compute(i):
        computed.append(i)
        return i

    def dying(n_jobs):
        def run(calls):
            yield from joblib.Parallel()(calls[::-2])
            if len(calls) > 1:
                raise BrokenProcessPool("gone")

        return run

    monkeypatch.setattr(_parallel, "_parallel", dying)
    assert map_instances(compute, NAMES, NUMBERS, None) == [0, 1, 2, 3, 4]
    assert sorted(computed) == [0, 1, 2, 3, 4]


def test_a_copy_of_a_stop_in_another_process_hears_its_signal_only(monkeypatch):
    stop = _parallel._Stop()
    copy = pickle.loads(pickle.dumps(stop))
    stop.set()
    copy()
    with pytest.raises(_parallel._Stopped):
        stop()

    class Sent:
        def was_sent(self):
            return True

    copy = pickle.loads(pickle.dumps(_parallel._Stop()))
    copy._signal = Sent()
    with pytest.raises(_parallel._Stopped):
        copy()


@pytest.mark.parametrize("name", LEARNERS)
def test_an_instance_that_fails_is_named_by_any_number_of_threads(name):
    def failing(Z, labels):
        if len(labels) == len(Y[3]):
            raise ValueError("not this one")
        return cut_loss(Z, labels)

    for n_jobs in (1, 2, 5):
        with pytest.raises(ValueError, match=r"^X\[3\]: .*not this one"):
            LEARNERS[name](loss=failing, n_jobs=n_jobs).fit(X, Y)


def test_results_that_are_not_wanted_are_dropped_without_a_warning():
    def busy(i):
        # As threads do that set filters for themselves: there is one set for all.
        while i and time.monotonic() < deadline:
            warnings.simplefilter("error")
            time.sleep(0.001)

    def fail(i):
        raise LookupError(i)

    deadline = time.monotonic() + 0.5
    with pytest.raises(LookupError):
        map_instances(busy, NAMES, NUMBERS, 2, [fail])
