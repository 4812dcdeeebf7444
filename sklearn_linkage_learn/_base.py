"""What all learners share: from labelled instances to a parameter, and back.

A learner computes each instance's loss at every parameter of a family of algorithms,
averages these curves and takes the parameter where the mean is least. The algorithms
to choose from are a :class:`Family`.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real

import joblib
import numpy as np
from joblib.func_inspect import get_func_code
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_memory

from ._errors import name_of
from ._instances import all_or_nothing, read_instances
from ._interpolated import count_below, flat_clusters, read_cluster_counts
from ._limits import check_room_for_all
from ._parallel import map_instances
from ._pickling import VersionedPickle
from ._piecewise import PiecewiseConstant, widest_optimal_interval
from ._progress import CallbackSupportMixin, FitTasks, shown_progress
from .losses import LOSSES, evaluate, kernel_bytes


class Family(ABC):
    """A family of algorithms with one parameter in [0, 1].

    It can be pickled and compared for equality; as a string it names what it is made
    of. `algorithm` is the engine that computes curves, `n_matrices` the number of
    distance matrices that an instance is, 0 if it is points. `curve_bytes` and
    `tree_bytes` tell the memory that is needed, times the square of its points.
    """

    algorithm: str
    n_matrices: int
    curve_bytes: float
    tree_bytes: float

    def bind(self, estimator):
        """Return the family for instances with the features of the estimator."""
        return self

    @abstractmethod
    def measure(self, points, labels, loss, source, memory):
        """Compute what has to be known of an instance: as a rule, its loss curve."""

    def conclude(self, measured, weights):
        """Return the final family and the loss curves of all measured instances."""
        return self, measured

    def curve(self, points, labels, loss):
        """Compute the loss curve of a new instance under a final family."""
        return self.measure(points, labels, loss, None, check_memory(None))

    @abstractmethod
    def tree(self, points, parameter):
        """Return the cluster tree of a final family's algorithm."""

    @abstractmethod
    def clusterer(self, parameter):
        """Return that algorithm as an estimator of its own."""


@dataclass(frozen=True)
class TrainingInstance:
    """What a learner keeps of an instance that it has learned from."""

    measured: object  # By its family.
    n_labels: int
    weight: float


class InstanceLearner(CallbackSupportMixin, VersionedPickle, BaseEstimator, ABC):
    """A learner without its family; a subclass sets `_parameter` and makes the family.

    It is a clusterer by its tag but no :class:`~sklearn.base.ClusterMixin`, whose
    `fit` needs no `y` and whose `fit_predict` fits anew.
    """

    _parameter: str

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "distance_threshold": [Interval(Real, 0, None, closed="left"), None],
        "loss": [StrOptions(set(LOSSES)), callable],
        "algorithm": [StrOptions({"auto", "kinetic", "execution_tree"})],
        "n_jobs": [Integral, None],
        "memory": [str, HasMethods("cache"), None],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _make_family(self):
        """Check the family's constructor parameters and return the family."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "clusterer"
        tags.target_tags.required = True
        tags.input_tags.three_d_array = True
        return tags

    def fit(self, X, y=None, groups=None, instance_weight=None):
        """Learn the parameter that is best on a collection of labelled instances.

        Parameters
        ----------
        X : sequence of array-likes of shape (n_points, n_features), or array-like
            The instances: a sequence of 2-D arrays of any lengths, or a 3-D array. A
            single 2-D array is one instance, or a stacked collection if `groups` are
            given. Precomputed distances of an instance are a square matrix, or two
            of them, of shape (2, n_points, n_points), to learn a metric.

        y : sequence of array-likes of shape (n_points,), or array-like
            The right clustering of each instance, as labels of any kind; 1-D if `X`
            is 2-D.

        groups : array-like of shape (n_rows,), default=None
            For a stacked collection, the instance of each row.

        instance_weight : array-like of shape (n_instances,) or (n_rows,), default=None
            Weights of instances in the mean loss, 1 by default. An instance of weight
            2 counts as if it were there twice, one of weight 0 as if it were not. For
            a 2-D `X` they may be given by rows, but are constant within each instance.

        Returns
        -------
        self : estimator
            The fitted learner. If anything fails, or on Ctrl-C, it is left as it was.

        Raises
        ------
        MemoryError
            If instances that are worked on at once need more memory than there is:
            some dozen bytes times the square of the number of points. It is raised
            before anything is computed, and tells what would fit.
        """
        return self._learn(X, y, groups, instance_weight)

    def partial_fit(self, X, y=None, groups=None, instance_weight=None):
        """Learn from further instances, and from all earlier ones.

        The result equals that of one `fit` on all instances. Only the new instances'
        curves are computed.

        Parameters
        ----------
        X, y, groups, instance_weight : see `fit`
            One or more further instances.

        Returns
        -------
        self : estimator
            The fitted learner. If anything fails, or on Ctrl-C, it is left as it was.
        """
        if not hasattr(self, "instance_curves_"):
            return self.fit(X, y, groups, instance_weight)
        return self._learn(X, y, groups, instance_weight, earlier=self._training)

    @all_or_nothing
    @_fit_context(prefer_skip_nested_validation=True)
    def _learn(self, X, y, groups, instance_weight, earlier=(), check=None):
        reset = not earlier
        family = self._checked_family()
        memory = check_memory(self.memory)
        source = _source_of(self.loss, must_pickle=self.memory is not None)
        if not reset:
            self._check_same_family(family.bind(self), "partial_fit cannot add to")
        instances = read_instances(
            self,
            X,
            y,
            groups=groups,
            labelled=True,
            n_matrices=family.n_matrices,
            reset=reset,
        )
        family = family.bind(self)
        n_labels = [len(np.unique(labels)) for labels in instances.labels]
        weights = instances.weights(
            "instance_weight", instance_weight, may_vanish=not reset
        )
        if check is not None:
            self._decide_n_clusters(n_labels, weights)
            check(instances)
        losses = kernel_bytes(self.loss, np.array(instances.sizes), np.array(n_labels))
        self._check_room(instances, "Learning from", family.curve_bytes, losses)
        metadata = {"groups": groups, "instance_weight": instance_weight}
        tasks = FitTasks(self, X, y, metadata, len(instances))
        measured = self._map(
            _measure,
            instances,
            family,
            self.loss,
            source,
            memory,
            listener=tasks.end_instance,
        )
        training = map(TrainingInstance, measured, n_labels, weights.tolist())
        self._conclude(family, [*earlier, *training])
        tasks.end()
        return self

    def _checked_family(self):
        if self.n_clusters is not None and self.distance_threshold is not None:
            raise ValueError(
                "At most one of n_clusters and distance_threshold can be set, got "
                f"n_clusters={self.n_clusters} and "
                f"distance_threshold={self.distance_threshold}."
            )
        return self._make_family()

    def _check_same_family(self, family, problem):
        if (family, self.loss) != (self._family, self._fitted_loss):
            raise ValueError(
                f"{problem} curves of another family or loss. They are of "
                f"{self._family}, loss={self._fitted_loss!r}; set are now {family}, "
                f"loss={self.loss!r}. Use fit to start anew."
            )

    def _restore(self, training):
        """Learn again from what is kept of instances whose features are known."""
        self._validate_params()
        family = self._checked_family().bind(self)
        return self._conclude(family, training)

    def _conclude(self, family, training):
        """Set all that follows from what is kept of the instances."""
        self._training = training
        self.instance_weight_ = np.array([instance.weight for instance in training])
        self._family, curves = family.conclude(
            [instance.measured for instance in training], self.instance_weight_
        )
        self._fitted_loss = self.loss
        self.instance_curves_ = list(curves)
        self.algorithm_ = family.algorithm
        self._minimise_mean_loss()
        return self

    def _minimise_mean_loss(self):
        """Set what follows from the instances' curves."""
        self.n_instances_ = len(self.instance_curves_)
        self.loss_curve_ = PiecewiseConstant.mean(
            self.instance_curves_, self.instance_weight_
        )
        start, stop = widest_optimal_interval(self.loss_curve_)
        best = (start + stop) / 2
        self.loss_ = self.loss_curve_.min()
        setattr(self, f"{self._parameter}_", best)
        setattr(self, f"{self._parameter}_interval_", (start, stop))

        n_labels = [instance.n_labels for instance in self._training]
        self._decide_n_clusters(n_labels, self.instance_weight_)
        self.clusterer_ = self._family.clusterer(best).set_params(
            n_clusters=self.n_clusters_, distance_threshold=self.distance_threshold
        )

    def _decide_n_clusters(self, n_labels, weights):
        """Set the number of clusters that `predict` makes by default."""
        self._label_counts = np.extract(weights, n_labels).tolist()
        self.n_clusters_ = self.n_clusters
        if self.n_clusters is None and self.distance_threshold is None:
            shared = set(self._label_counts)
            self.n_clusters_ = shared.pop() if len(shared) == 1 else None

    def predict(self, X, n_clusters=None, groups=None):
        """Cluster new instances at the learned parameter.

        Parameters
        ----------
        X : sequence of array-likes of shape (n_points, n_features), or array-like
            One instance or a collection, in any form that `fit` takes.

        n_clusters : int or sequence of int, default=None
            The number of clusters, of all instances or of each. By default the
            constructor's `n_clusters` or `distance_threshold` decides, or else the
            number of classes, if it was the same in all training instances.

        groups : array-like of shape (n_rows,), default=None
            For a stacked collection, the instance of each row.

        Returns
        -------
        labels : ndarray of shape (n_points,) or list of them
            The clusters of one instance, or a list of such arrays for a collection.
            For a stacked collection one array, aligned with the rows of `X`; the
            clusters of each instance are numbered from 0. Numbers go by size, see
            `InterpolatedLinkage.labels_`.
        """
        check_is_fitted(self)
        instances = self._read_new(X, groups=groups)
        counts = self._cluster_counts(instances, n_clusters)
        trees = self._trees(instances)
        if counts is None:
            counts = [count_below(tree, self.distance_threshold) for tree in trees]
        return instances.like_input(list(map(flat_clusters, trees, counts)))

    def fit_predict(
        self, X, y=None, n_clusters=None, groups=None, instance_weight=None
    ):
        """Cluster instances; learn first if they are labelled.

        Without `y` this is `predict`: a fitted learner clusters new instances at the
        parameter it has, and never learns from its own clusters.

        Parameters
        ----------
        X, y, groups, instance_weight : see `fit`
            The instances, and their labels and weights if they are to be learned from.

        n_clusters : int or sequence of int, default=None
            See `predict`.

        Returns
        -------
        labels : ndarray of shape (n_points,) or list of them
            See `predict`.
        """
        if y is not None:
            # What `predict` would refuse is found before anything is learned.
            check = partial(self._cluster_counts, n_clusters=n_clusters)
            self._learn(X, y, groups, instance_weight, check=check)
        return self.predict(X, n_clusters, groups)

    def score(self, X, y=None, sample_weight=None, groups=None):
        """Return one minus the mean loss of instances at the learned parameter.

        Parameters
        ----------
        X, y, groups : see `fit`
            Labelled instances. The number of clusters is that of the labels.

        sample_weight : array-like of shape (n_instances,) or (n_rows,), default=None
            Weights of instances in the mean. For a 2-D `X` they may be given by rows,
            but are constant within each instance: points are not weighted.

        Returns
        -------
        score : float
            1 is best.
        """
        check_is_fitted(self)
        instances = self._read_new(X, y, groups=groups, labelled=True)
        weights = instances.weights("sample_weight", sample_weight)
        self._check_room(instances, "Clustering", self._family.tree_bytes)
        losses = self._map(
            _loss_of, instances, self._family, self._best, self._fitted_loss
        )
        return 1.0 - mean_loss(losses, weights)

    def linkage_matrix(self, X):
        """Return the cluster tree of an instance at the learned parameter.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            One instance, or a collection of them.

        Returns
        -------
        Z : ndarray of shape (n_points - 1, 4)
            The tree in scipy's form, with rows in the order of merges. A list of
            trees for a collection.
        """
        check_is_fitted(self)
        instances = self._read_new(X)
        trees = self._trees(instances)
        return instances.like_input(trees)

    @property
    def _best(self):
        return getattr(self, f"{self._parameter}_")

    def _read_new(self, X, y=None, **options):
        n_matrices = self._family.n_matrices
        return read_instances(self, X, y, n_matrices=n_matrices, reset=False, **options)

    def _cluster_counts(self, instances, n_clusters):
        """The number of clusters of each instance; None if a threshold decides."""
        if n_clusters is None:
            n_clusters = self.n_clusters
        if n_clusters is None and self.distance_threshold is not None:
            return None
        if n_clusters is None:
            n_clusters = self.n_clusters_
        if n_clusters is None:
            raise ValueError(
                "n_clusters is needed: the training instances have from "
                f"{min(self._label_counts)} to {max(self._label_counts)} classes. Pass "
                "n_clusters to predict, one for all instances or one for each."
            )
        return read_cluster_counts(n_clusters, instances)

    def _trees(self, instances):
        self._check_room(instances, "Clustering", self._family.tree_bytes)
        return self._map(_tree_of, instances, self._family, self._best)

    def _check_room(self, instances, work, per_pair, more=0):
        n_bytes = per_pair * np.square(instances.sizes, dtype=float) + more
        check_room_for_all(n_bytes, work, instances, self.n_jobs)

    def _map(self, function, instances, *args, listener=None):
        """Apply a function to all instances in parallel; results keep their order."""
        labels = instances.labels or [None] * len(instances)
        arguments = [
            (*data, *args) for data in zip(instances.points, labels, strict=True)
        ]
        title = f"{type(self).__name__}, {_WORK[function]}" if self.verbose else None
        with shown_progress(title, instances.sizes) as advance:
            listeners = [advance] if listener is None else [advance, listener]
            return map_instances(
                function, instances.names, arguments, self.n_jobs, listeners
            )


def mean_loss(losses, weights):
    """The weighted mean, which does not depend on the order of instances."""
    # Only ratios count. Sums are exact.
    weights = weights / weights.max()
    return math.fsum(np.multiply(losses, weights)) / math.fsum(weights)


def _measure(points, labels, family, loss, source, memory):
    if not callable(loss):
        # Equal clusterings give equal keys in `memory`, whatever the labels are.
        _, labels = np.unique(labels, return_inverse=True)
    return family.measure(points, labels, loss, source, memory)


def _tree_of(points, labels, family, parameter):
    return family.tree(points, parameter)


def _loss_of(points, labels, family, parameter, loss):
    return evaluate(loss, family.tree(points, parameter), labels)


# How progress is titled.
_WORK = {_measure: "learning", _tree_of: "clustering", _loss_of: "scoring"}


def _source_of(loss, must_pickle):
    """What tells a loss from others of its name: the code of a callable."""
    if not callable(loss):
        return None
    if must_pickle:
        try:
            joblib.hash(loss)
        except Exception as error:
            raise ValueError(
                f"loss {name_of(loss)} cannot be used with memory: a stored curve is "
                "found by the name of its loss, so that it has to be a function that "
                "can be imported."
            ) from error
    return get_func_code(loss)[0]
