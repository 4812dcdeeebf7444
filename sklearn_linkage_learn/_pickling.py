"""Pickles that know the version of this package they were made by.

scikit-learn does the same for its own estimators, and for no others.
"""

from warnings import warn

from sklearn.exceptions import InconsistentVersionWarning

from ._version import __version__

_VERSION = "_sklearn_linkage_learn_version"


class PickleVersionWarning(InconsistentVersionWarning):
    """An estimator was pickled by another version of this package.

    The versions that it inherits, `current_sklearn_version` and
    `original_sklearn_version`, are those of this package.
    """

    def __str__(self):
        return (
            f"{self.estimator_name} was pickled by version "
            f"{self.original_sklearn_version} of sklearn-linkage-learn and is loaded "
            f"by version {self.current_sklearn_version}: it may fail or give other "
            "results. Fit it again. What is kept by to_json can be read by all later "
            "versions."
        )


class VersionedPickle:
    """What an estimator has in front of its base classes to warn of other versions."""

    def __getstate__(self):
        return {**super().__getstate__(), _VERSION: __version__}

    def __setstate__(self, state):
        state = dict(state)
        version = state.pop(_VERSION, "pre-0.1.0")
        if version != __version__:
            warning = PickleVersionWarning(
                estimator_name=type(self).__name__,
                current_sklearn_version=__version__,
                original_sklearn_version=version,
            )
            warn(warning, stacklevel=2)
        super().__setstate__(state)
