import copy
import pickle

import pytest
from learners import LEARNERS, X, Y, learned
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning

from sklearn_linkage_learn import InterpolatedLinkage, __version__, _pickling

ESTIMATORS = {**LEARNERS, "clusterer": InterpolatedLinkage}


@pytest.fixture(params=ESTIMATORS.values(), ids=ESTIMATORS.keys())
def fitted(request):
    estimator = request.param()
    if isinstance(estimator, InterpolatedLinkage):
        return estimator.fit(X[0])
    return estimator.fit(X[:2], Y[:2])


def test_a_pickle_of_another_version_warns_and_is_loaded(fitted, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(_pickling, "__version__", "0.0.7")
        old = pickle.dumps(fitted)
    with pytest.warns(InconsistentVersionWarning) as caught:
        loaded = pickle.loads(old)
    assert vars(loaded).keys() == vars(fitted).keys()

    # A learner holds a clusterer, which is loaded first.
    warning = caught[-1]
    assert warning.filename == __file__
    assert str(warning.message).startswith(
        f"{type(fitted).__name__} was pickled by version 0.0.7 of "
        f"sklearn-linkage-learn and is loaded by version {__version__}"
    )
    assert warning.message.original_sklearn_version == "0.0.7"
    assert warning.message.current_sklearn_version == __version__


def test_a_pickle_without_a_version_warns_and_is_loaded(fitted, monkeypatch):
    with monkeypatch.context() as patch:
        patch.delattr(_pickling.VersionedPickle, "__getstate__")
        old = pickle.dumps(fitted)
    with pytest.warns(InconsistentVersionWarning, match="by version pre-0.1.0 of"):
        loaded = pickle.loads(old)
    assert vars(loaded).keys() == vars(fitted).keys()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, clone])
def test_copies_neither_warn_nor_hold_a_version(fitted, duplicate):
    before = vars(fitted).copy()
    made = duplicate(fitted)
    assert vars(fitted) == before
    expected = before if duplicate is not clone else fitted.get_params()
    assert vars(made).keys() == expected.keys()


class Mine(InterpolatedLinkage):
    pass


def test_a_pickle_of_a_subclass_warns_by_its_own_name(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(_pickling, "__version__", "0.0.7")
        old = pickle.dumps(Mine().fit(X[0]))
    with pytest.warns(InconsistentVersionWarning, match="^Mine was pickled"):
        pickle.loads(old)


def test_a_state_is_not_changed_by_loading_it(fitted):
    state = fitted.__getstate__()
    before = state.copy()
    made = type(fitted).__new__(type(fitted))
    made.__setstate__(state)
    assert state == before
    if hasattr(fitted, "loss_"):
        assert learned(made) == learned(fitted)


def test_a_curve_takes_little_more_than_its_numbers():
    curve = LEARNERS["linkage"]().fit(X, Y).loss_curve_
    numbers = 8 * (2 * curve.n_pieces + 1)
    assert len(pickle.dumps(curve)) < numbers + 400
