import pickle
import re
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from learners import LEARNERS, X, Y, learned, make_instances, object_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_linkage_learn import LearnedLinkage, _progress, from_json, to_json
from sklearn_linkage_learn._progress import FitTasks, shown_progress
from sklearn_linkage_learn.losses import cut_loss


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand; there is no tqdm."""
    for module in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, module, None)
    time = SimpleNamespace(now=0.0)
    monkeypatch.setattr(_progress, "monotonic", lambda: time.now)
    return time


def test_time_left_goes_by_squares_of_sizes(clock, capfd):
    # The last instance is as much work as all others.
    with shown_progress("Work", [10] * 9 + [30]) as advance:
        for i in range(9):
            clock.now += 7.0
            advance(i)
        clock.now += 63.0
        advance(9)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "Work: 1/10 instances, about 0:01:59 left"
    assert lines[-2] == "Work: 9/10 instances, about 0:01:03 left"
    assert lines[-1] == "Work: 10/10 instances, 0:02:06 passed"
    assert len(lines) == 10


@pytest.mark.parametrize("seconds, most", [(0.5, 1), (10, 11), (1e5, 101)])
def test_lines_are_few(clock, capfd, seconds, most):
    with shown_progress("Work", [10] * 1000) as advance:
        for i in range(1000):
            clock.now += seconds / 1000
            advance(i)
    lines = capfd.readouterr().err.splitlines()
    assert most / 2 <= len(lines) <= most
    assert "1000/1000" in lines[-1]


def test_a_bar_goes_by_squares_of_sizes(capfd):
    pytest.importorskip("tqdm")
    with shown_progress("Work", [10] * 9 + [30]) as advance:
        for i in range(9):
            advance(i)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.search(r"Work:  50%\|.*\| \[.*, 9/10 instances\]$", err.strip())


@pytest.mark.parametrize("name", LEARNERS)
def test_all_work_shows_progress_if_asked_for(name, capfd):
    learner = LEARNERS[name]().fit(X, Y)
    for verbose in (0, 1):
        learner.set_params(verbose=verbose)
        for method, args, title in [
            ("fit", (X, Y), "learning"),
            ("partial_fit", (X, Y), "learning"),
            ("predict", (X,), "clustering"),
            ("linkage_matrix", (X,), "clustering"),
            ("score", (X, Y), "scoring"),
        ]:
            getattr(learner, method)(*args)
            out, err = capfd.readouterr()
            assert out == ""
            assert (f"Linkage, {title}: " in err) == bool(verbose)
            assert ("5/5 instances" in err) == bool(verbose)


def test_learners_do_without_callbacks():
    tasks = FitTasks(SimpleNamespace(), X, Y, None, len(X))
    tasks.end_instance(0)
    tasks.end()


class Recorder:
    """A callback that notes what it hears."""

    max_propagation_depth = None

    def __init__(self, answer=None):
        self.events, self.answer = [], answer

    def note(self, event, estimator, context):
        name = type(estimator).__name__
        self.events.append((event, name, context.task_name, context.task_id))

    def setup(self, estimator, context):
        self.note("setup", estimator, context)

    def teardown(self, estimator, context):
        self.note("teardown", estimator, context)

    def on_fit_task_begin(self, estimator, context):
        self.note("begin", estimator, context)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.note("end", estimator, context)
        self.last_fitted = fitted_estimator
        return self.answer

    def instances(self):
        return [event[3] for event in self.events if event[::2] == ("end", "instance")]


@pytest.fixture
def recorder():
    pytest.importorskip("sklearn.callback")
    return Recorder()


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_hear_of_each_instance(name, n_jobs, recorder):
    learner = LEARNERS[name](n_jobs=n_jobs).set_callbacks(recorder)
    learner.fit(X, Y)
    kind = type(learner).__name__
    order = recorder.instances()
    assert recorder.events == [
        ("setup", kind, "fit", 0),
        ("begin", kind, "fit", 0),
        *((e, kind, "instance", i) for i in order for e in ("begin", "end")),
        ("end", kind, "fit", 0),
        ("teardown", kind, "fit", 0),
    ]
    assert sorted(order) == [0, 1, 2, 3, 4]
    assert learned(recorder.last_fitted) == learned(learner)
    assert learned(learner) == learned(LEARNERS[name]().fit(X, Y))

    recorder.events.clear()
    learner.partial_fit(X[0], Y[0])
    assert recorder.instances() == [0]


def test_callbacks_leave_no_traces(recorder):
    learner = LearnedLinkage().fit(X, Y)
    attributes = set(vars(learner))
    learner.set_callbacks(recorder).fit(X, Y)
    assert set(vars(learner)) == attributes | {"_skl_callbacks"}
    assert clone(learner)._skl_callbacks == [recorder]
    loaded = pickle.loads(pickle.dumps(learner))
    assert learned(loaded) == learned(learner)
    assert loaded._skl_callbacks[0].events == recorder.events
    assert learned(from_json(to_json(learner))) == learned(learner)


def raise_error(Z, labels):
    raise LookupError("enough")


def interrupt(Z, labels):
    signal.raise_signal(signal.SIGINT)
    return 0.0


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(
    "loss, error", [(raise_error, LookupError), (interrupt, KeyboardInterrupt)]
)
def test_callbacks_are_torn_down_and_all_is_as_it_was(loss, error, n_jobs, recorder):
    learner = LearnedLinkage(n_jobs=n_jobs).set_callbacks(recorder).fit(X, Y)
    learner.set_params(loss=loss)
    before = vars(learner).copy()
    recorder.events.clear()
    with pytest.raises(error):
        learner.fit(X[:2], Y[:2])
    events = [event[0] for event in recorder.events if event[2] == "fit"]
    assert events == ["setup", "begin", "teardown"]
    assert vars(learner) == before


def test_bad_input_is_found_before_callbacks_begin(recorder):
    with pytest.raises(ValueError, match=r"X\[1\]"):
        LearnedLinkage().set_callbacks(recorder).fit([X[0], X[1] * np.nan], Y[:2])
    assert recorder.events == []


@pytest.mark.parametrize("hook", ["on_fit_task_begin", "on_fit_task_end", "teardown"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_that_fails_leaves_all_as_it_was(hook, n_jobs, recorder):
    learner = LearnedLinkage(n_jobs=n_jobs).fit(X[:2], Y[:2]).set_callbacks(recorder)
    before = vars(learner).copy()

    def fail(estimator, context):
        if hook == "teardown" or context.task_name == "instance":
            raise LookupError(hook)

    setattr(recorder, hook, fail)
    with pytest.raises(LookupError, match=hook):
        learner.fit(X, Y)
    assert vars(learner) == before


def test_a_wish_to_stop_does_not_change_what_is_learned(recorder):
    recorder.answer = True
    learner = LearnedLinkage().set_callbacks(recorder).fit(X, Y)
    assert learned(learner) == learned(LearnedLinkage().fit(X, Y))


def test_searches_and_pipelines_pass_callbacks_on(recorder):
    points, labels = map(object_array, make_instances(n_instances=4))
    pipeline = make_pipeline(FunctionTransformer(), LearnedLinkage())
    search = GridSearchCV(pipeline, {"learnedlinkage__loss": ["cut", "ari"]}, cv=2)
    search.set_callbacks(recorder)
    with pytest.warns(UserWarning, match="FunctionTransformer does not support"):
        search.fit(points, labels)
    # Two fits on two instances for each loss, and one on all.
    assert sorted(recorder.instances()) == [0] * 5 + [1] * 5 + [2, 3]
    assert recorder.events[-1][:2] == ("teardown", "GridSearchCV")
    learner = search.best_estimator_[-1]
    assert not {"_skl_callbacks", "_parent_callback_ctx"} & set(vars(learner))
    assert learned(learner) == learned(clone(learner).fit(points, labels))


def test_a_failing_fit_in_a_search_keeps_what_the_search_gave_it(recorder):
    search = GridSearchCV(
        LearnedLinkage(), {"loss": [cut_loss, raise_error]}, cv=2, error_score=0.0
    )
    search.set_callbacks(recorder)
    with pytest.warns(Warning, match="2 fits failed"):
        search.fit(*map(object_array, make_instances(n_instances=4)))
    assert search.best_params_ == {"loss": cut_loss}


def test_the_progress_bar_of_sklearn_can_be_used(capfd):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    LearnedLinkage(n_jobs=2).set_callbacks(callback.ProgressBar()).fit(X, Y)
    printed = "".join(capfd.readouterr())
    assert re.search("LearnedLinkage - fit.*100%", printed)
