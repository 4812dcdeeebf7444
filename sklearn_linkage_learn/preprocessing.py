"""Transformers of scikit-learn, applied to instances."""

from copy import deepcopy
from functools import reduce

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context, clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils._set_output import _safe_set_output
from sklearn.utils.validation import (
    _check_feature_names,
    _check_n_features,
    check_is_fitted,
)

from ._errors import blame
from ._instances import all_or_nothing, split_instances
from ._pickling import VersionedPickle

__all__ = ["PerInstance"]


class PerInstance(
    VersionedPickle, TransformerMixin, BaseEstimator, auto_wrap_output_keys=None
):
    """Apply a transformer of scikit-learn to each instance of a collection.

    It stands before a learner in a :class:`~sklearn.pipeline.Pipeline`, and takes and
    returns instances in all the forms that learners do: a list of tables for a list,
    one table for one, a stacked table for a stacked one.

    Parameters
    ----------
    transformer : transformer of scikit-learn
        It is cloned, never fitted itself.

    fit_on : {"each", "all"}, default="each"
        What a clone of the transformer is fitted on. With ``"each"``, that is each
        instance alone, training or new: a ``StandardScaler`` makes every instance one
        of mean 0. With ``"all"`` it is the points of all training instances together,
        once, in `fit`: new instances are transformed as these were.

    Attributes
    ----------
    transformer_ : transformer
        The clone that was fitted; with ``fit_on="each"`` that of the first instance.

    n_features_in_ : int
        Number of features of a point.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features, if instances have names that are all strings.

    See Also
    --------
    sklearn_linkage_learn.model_selection.PerInstanceClusterer : The same for
        clusterers.

    Notes
    -----
    A plain transformer can be used as well if instances are stacked in one table, with
    the instance of each row in `groups`: it is fitted on the rows of all training
    instances, which is ``fit_on="all"``.

    Examples
    --------
    Instances in different units. In units of their own, they are alike:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_linkage_learn import LearnedLinkage
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> from sklearn_linkage_learn.preprocessing import PerInstance
    >>> X, y = make_rings_and_disks(6, n_per_cluster=20, random_state=0)
    >>> X = [points * 10.0**i for i, points in enumerate(X)]
    >>> pipeline = make_pipeline(PerInstance(StandardScaler()), LearnedLinkage())
    >>> labels = pipeline.fit(X[:4], y[:4]).predict(X[4:])
    >>> [found.shape for found in labels]
    [(80,), (80,)]
    """

    _parameter_constraints = {
        "transformer": [HasMethods(["fit", "transform"])],
        "fit_on": [StrOptions({"each", "all"})],
    }

    def __init__(self, transformer, *, fit_on="each"):
        self.transformer = transformer
        self.fit_on = fit_on

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = deepcopy(get_tags(self.transformer))
        tags.input_tags = inner.input_tags
        tags.input_tags.three_d_array = True
        tags.transformer_tags = inner.transformer_tags
        tags.non_deterministic = inner.non_deterministic
        tags.target_tags.required = self.fit_on == "all" and inner.target_tags.required
        return tags

    def fit(self, X, y=None, groups=None):
        """Fit the transformer.

        Parameters
        ----------
        X : sequence of tables of shape (n_points, n_features), or one table
            One instance or a collection, in any form that learners take. What a table
            may hold is up to the transformer.

        y : sequence of array-likes of shape (n_points,), or array-like, default=None
            Labels in the form of `X`. With ``fit_on="all"`` the transformer gets those
            of all instances together, so that a label means the same in each. With
            ``fit_on="each"`` they are ignored, as new instances have none.

        groups : array-like of shape (n_rows,), default=None
            For a stacked collection, the instance of each row.

        Returns
        -------
        self : PerInstance
            Fitted. If anything fails, it is left as it was.
        """
        self._fit(X, y, groups)
        return self

    def fit_transform(self, X, y=None, groups=None):
        """Fit the transformer and transform the same instances.

        Parameters
        ----------
        X, y, groups : see `fit`

        Returns
        -------
        transformed : see `transform`
        """
        instances = self._fit(X, y, groups, transform=True)
        return _like_input(instances, X)

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=False)
    def _fit(self, X, y, groups, transform=False):
        """Fit, and return the instances, transformed or as they are."""
        instances = split_instances(X, y if self.fit_on == "all" else None, groups)
        for i, (name, points) in enumerate(_named(instances)):
            with blame(name):
                self._check_features(points, reset=i == 0)
        if self.fit_on == "each":
            fitted, results = self._fit_each(instances, transform)
            self.transformer_ = fitted[0]
        else:
            self.transformer_ = self._fit_all(instances)
            results = self._apply(instances) if transform else None
        return instances.replace(results) if transform else instances

    def transform(self, X, groups=None):
        """Transform instances.

        Parameters
        ----------
        X, groups : see `fit`

        Returns
        -------
        transformed : list of tables, or table
            A list for a collection, one table for one instance, and for a stacked
            collection one table with the rows of `X` in their order. Tables are what
            the transformer makes, see also `set_output`.
        """
        check_is_fitted(self)
        instances = split_instances(X, groups=groups)
        for name, points in _named(instances):
            with blame(name):
                self._check_features(points, reset=False)
        if self.fit_on == "each":
            _, results = self._fit_each(instances, transform=True)
        else:
            results = self._apply(instances)
        return _like_input(instances.replace(results), X)

    def _check_features(self, points, reset):
        _check_feature_names(self, points, reset=reset)
        # What is no table, the transformer itself refuses.
        if reset or len(getattr(points, "shape", (0, 0))) == 2:
            _check_n_features(self, points, reset=reset)

    def _fit_each(self, instances, transform):
        fitted, results = [], []
        for name, points in _named(instances):
            with blame(name):
                fitted.append(clone(self.transformer))
                if not transform:
                    fitted[-1].fit(points)
                elif hasattr(fitted[-1], "fit_transform"):
                    results.append(fitted[-1].fit_transform(points))
                else:
                    results.append(fitted[-1].fit(points).transform(points))
        return fitted, results

    def _fit_all(self, instances):
        points, labels = _stacked(instances.points), None
        if instances.labels is not None:
            labels = np.concatenate(list(map(np.asarray, instances.labels)))
        with blame("X"):
            return clone(self.transformer).fit(points, labels)

    def _apply(self, instances):
        results = []
        for name, points in _named(instances):
            with blame(name):
                results.append(self.transformer_.transform(points))
        return results

    def get_feature_names_out(self, input_features=None):
        """Return the names of the transformed features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features, by default those seen in `fit`.

        Returns
        -------
        names : ndarray of str
            As the transformer tells them.
        """
        check_is_fitted(self)
        return self.transformer_.get_feature_names_out(input_features)

    def set_output(self, *, transform=None):
        """Choose what kind of tables the transformer makes.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            See scikit-learn's transformers. None changes nothing.

        Returns
        -------
        self : PerInstance
        """
        _safe_set_output(self.transformer, transform=transform)
        if hasattr(self, "transformer_"):
            _safe_set_output(self.transformer_, transform=transform)
        return self


def _named(instances):
    return zip(instances.names, instances.points, strict=True)


def _like_input(instances, X):
    """Give the points of instances the form of the input that these came in."""
    if instances.single or instances.rows is None:
        return instances.points[0] if instances.single else instances.points
    order = np.argsort(np.concatenate(instances.rows))
    table = _safe_indexing(_stacked(instances.points), order)
    if hasattr(table, "iloc"):
        # Rows keep their names, or have those of a new table.
        table.index = X.index if hasattr(X, "iloc") else range(len(table))
    return table


def _stacked(tables):
    """One table of the rows of several."""
    if len(tables) == 1:
        return tables[0]
    if any(map(sparse.issparse, tables)):
        return sparse.vstack(tables, format="csr")
    if all(hasattr(table, "iloc") for table in tables):
        import pandas as pd

        return pd.concat(tables, ignore_index=True)
    if all(hasattr(table, "vstack") for table in tables):  # of polars
        return reduce(lambda table, more: table.vstack(more), tables)
    return np.concatenate(list(map(np.asarray, tables)))
