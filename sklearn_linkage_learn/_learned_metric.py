"""The learner of a mix of two metrics, and its family of algorithms."""

from dataclasses import dataclass, field, replace

from sklearn.utils._param_validation import StrOptions

from ._base import Family, InstanceLearner
from ._distances import read_metrics, stacked_distances
from ._families import (
    choose_algorithm,
    distance_bytes,
    engine_bytes,
    metric_curve,
    run_bytes,
)
from ._interpolated import InterpolatedLinkage, weight_vector, weighted_tree
from ._scales import (
    common_scales,
    in_binary_units,
    largest_distances,
    mean_distances,
    scale_factors,
    stretched,
    usable,
)
from ._store import recall
from ._version import __version__
from .losses import make_loss

_LINKAGES = ("single", "complete", "average", "ward")


class LearnedMetricLinkage(InstanceLearner):
    """Learn the best mix of two metrics from clustered instances, exactly.

    It is inductive over *instances*: learn on some instances whose clustering is
    known, then cluster new instances of the same kind. An instance is a whole data
    set, such as one day's emails or one customer's records; points of different
    instances are never compared.

    The family of algorithms is agglomerative clustering by one merge function on the
    metric ::

        d(x, y) = (1 - beta) d0(x, y) + beta d1(x, y)

    for two metrics and all beta in [0, 1]. The loss of every algorithm of the family
    is computed on every training instance, not for a grid but for all beta, and beta
    is chosen where the mean loss is least.

    Parameters
    ----------
    metrics : tuple of two, or "precomputed", default=("cityblock", "chebyshev")
        The metrics d0 and d1; by default the sum of all differences and the largest
        of them. Each is a name known to scipy's
        :func:`~scipy.spatial.distance.pdist`, a function of two rows, or a tuple
        ``(name, metric, columns)`` with one of these and the columns of an instance
        that it sees: a position, a slice, a list of positions or a mask, or names of
        columns if instances are DataFrames. ``"precomputed"`` means that an instance
        is an array of shape (2, n_points, n_points) or a pair of distance matrices:
        the way for strings, sets, pen strokes and other objects that are not rows of
        numbers, see :func:`sklearn_linkage_learn.metrics.pairwise`.

    linkage : {"complete", "single", "average", "ward"}, default="complete"
        The merge function. ``"ward"`` mixes *squared* distances,
        ``d**2 = (1 - beta) d0**2 + beta d1**2``, and needs Euclidean metrics, which
        may be on blocks of columns. Precomputed ones are refused: Ward's criterion is
        one of squared Euclidean distances, and other ones break its guarantees.

    normalize : {"mean", "max", "instance_max"} or None, default=None
        What each metric is divided by before it is mixed, so that beta does not
        depend on the units of d0 and d1: the (weighted) mean over the training
        instances of their mean distance, the largest distance in any of them, or the
        largest distance inside each instance, training or new. None mixes the metrics
        as they are. See the notes.

    n_clusters : int, default=None
        The number of clusters that `predict` makes. By default the number of classes
        that all training instances have in common. Learning and `score` take the
        number of classes of each instance.

    distance_threshold : float, default=None
        `predict` stops merging when the nearest clusters are at this distance or
        further, in units of the mixed metric after `normalize`. At most one of it and
        `n_clusters` can be set.

    loss : str or callable, default="hamming"
        What a cluster tree is judged by, see :mod:`sklearn_linkage_learn.losses` and
        :class:`LearnedLinkage`.

    algorithm : {"auto", "kinetic", "execution_tree"}, default="auto"
        How to compute the curves. ``"kinetic"`` repairs one cluster tree while beta
        grows; ``"execution_tree"`` enumerates all runs as the paper does.
        ``"auto"`` takes the kinetic one.

    n_jobs : int, default=None
        Number of instances to work on at once, in threads. The results do not depend
        on it. None means 1 unless in a :obj:`joblib.parallel_config` context.

    memory : str or object with the joblib.Memory interface, default=None
        Where to store the curves of instances, so that none is computed twice: a fit
        that was interrupted or killed goes on from those it has stored, and processes
        may share a store. A callable loss must be importable by its name then; it is
        told from others of the name by its source code.

    verbose : int, default=0
        Whether to show progress on standard error.

    Attributes
    ----------
    beta_ : float
        The learned weight of the second metric: the middle of `beta_interval_`.

    beta_interval_ : tuple of two floats
        The widest interval on which the mean loss is least.

    loss_ : float
        The least mean loss.

    loss_curve_ : PiecewiseConstant
        The mean loss of the training instances at every beta.

    instance_curves_ : list of PiecewiseConstant
        The loss of each training instance at every beta.

    instance_weight_ : ndarray of shape (n_instances_,)
        The weight of each training instance, 1 by default.

    scales_ : tuple of two floats or None
        What distances under d0 and d1 are divided by, in new instances too. None if
        `normalize` is None or ``"instance_max"``.

    clusterer_ : InterpolatedLinkage
        The learned algorithm with its scales, not fitted, for use without this
        estimator. Its `n_clusters` is None, and has to be set, if neither the
        constructor nor the training instances decide on one.

    n_clusters_ : int or None
        The number of clusters that `predict` makes by default; None if it has to be
        told, or if a `distance_threshold` decides.

    algorithm_ : {"kinetic", "execution_tree"}
        How the curves were computed.

    n_instances_ : int
        The number of training instances.

    n_features_in_ : int
        Number of features of a point, unless distances are precomputed.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features, if instances have names that are all strings.

    See Also
    --------
    LearnedLinkage : Learns the mix of two linkages.
    InterpolatedLinkage : The algorithm at one beta.
    sklearn_linkage_learn.metrics : Distances of objects that are not rows of numbers.
    to_json : Keeps what was learned, as plain JSON.

    Notes
    -----
    A mix depends on the units of its metrics: if d0 is in the thousands and d1 below
    one, all that matters happens at beta near 1. Dividing each metric by a number of
    its own, as ``"mean"`` and ``"max"`` do, changes the meaning of beta and nothing
    else: the family holds the same algorithms, and the least mean loss is the same.
    Only the lengths of intervals differ, and so the choice between equally good ones.
    ``"instance_max"`` is another family. It suits instances that differ in scale among
    themselves, and is what the experiments of the paper did.

    `partial_fit` decides on the scales anew, from all instances so far, as one `fit`
    on all of them does. The curves of earlier instances follow without being computed
    again: other scales only move their breakpoints.

    References
    ----------
    M.-F. Balcan, T. Dick, M. Lang, "Learning to Link", ICLR 2020.

    Examples
    --------
    Things with a place and a colour, in one table. Learn how much each counts on six
    instances, and cluster two new ones:

    >>> import numpy as np
    >>> from sklearn_linkage_learn import LearnedMetricLinkage
    >>> rng = np.random.default_rng(0)
    >>> y = [np.repeat([0, 1], 10) for _ in range(8)]
    >>> X = [rng.normal(size=(20, 4)) + 1.5 * labels[:, None] for labels in y]
    >>> metrics = [("place", "euclidean", [0, 1]), ("colour", "cityblock", [2, 3])]
    >>> learner = LearnedMetricLinkage(metrics, normalize="mean").fit(X[:6], y[:6])
    >>> round(learner.beta_, 3)
    0.425
    >>> [labels.shape for labels in learner.predict(X[6:])]
    [(20,), (20,)]

    The mean loss by place, by the learned mix, and by colour:

    >>> learner.loss_curve_([0, learner.beta_, 1]).round(2)
    array([0.24, 0.12, 0.25])

    Words are no rows of numbers. Any two functions of two words make distances:

    >>> from sklearn_linkage_learn.metrics import pairwise
    >>> def by_length(a, b):
    ...     return abs(len(a) - len(b))
    >>> def by_letters(a, b):
    ...     return len(set(a) ^ set(b))
    >>> distances = [by_length, by_letters]
    >>> instance = pairwise(["tea", "eat", "ate", "hot", "hottest", "to"], distances)
    >>> learner = LearnedMetricLinkage("precomputed")
    >>> learner.fit(instance, [0, 0, 0, 1, 1, 1]).loss_
    0.0
    >>> learner.predict(pairwise(["on", "no", "nation", "use", "sue"], distances))
    array([0, 0, 0, 1, 1])
    """

    _parameter = "beta"

    _parameter_constraints = {
        **InstanceLearner._parameter_constraints,
        "metrics": [StrOptions({"precomputed"}), tuple, list],
        "linkage": [StrOptions(set(_LINKAGES))],
        "normalize": [StrOptions({"mean", "max", "instance_max"}), None],
    }

    def __init__(
        self,
        metrics=("cityblock", "chebyshev"),
        *,
        linkage="complete",
        normalize=None,
        n_clusters=None,
        distance_threshold=None,
        loss="hamming",
        algorithm="auto",
        n_jobs=None,
        memory=None,
        verbose=0,
    ):
        self.metrics = metrics
        self.linkage = linkage
        self.normalize = normalize
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.loss = loss
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.memory = memory
        self.verbose = verbose

    def _make_family(self):
        metrics = tuple(read_metrics("metrics", self.metrics))
        if isinstance(self.metrics, str):
            metrics *= 2
        if len(metrics) != 2:
            raise ValueError(
                f"metrics must hold two metrics, or be 'precomputed', got "
                f"{len(metrics)}: {self.metrics!r}."
            )
        if self.linkage == "ward" and not all(metric.euclidean for metric in metrics):
            raise ValueError(
                "linkage='ward' needs two Euclidean metrics, got "
                f"metrics={self.metrics!r}."
            )
        algorithm = choose_algorithm(self.algorithm)
        return _MetricFamily(
            metrics, self.linkage, self.normalize, self.metrics, algorithm
        )

    def _minimise_mean_loss(self):
        super()._minimise_mean_loss()
        self.scales_ = self._family.scales


@dataclass(frozen=True)
class Measured:
    """What is known of an instance: its curve at some scales, to be stretched.

    `units` tells these scales, `summary` what the instance says about those of the
    collection; both are None if there are no scales, or no common ones.
    """

    curve: object
    units: tuple | None
    summary: tuple | None


@dataclass(frozen=True)
class _MetricFamily(Family):
    """One merge function on two metrics, mixed by beta."""

    metrics: tuple
    linkage: str
    normalize: str | None
    # The metrics as the learner was given them.
    given: object = field(compare=False)
    # Engines compute the same curves.
    algorithm: str = field(compare=False)
    scales: tuple | None = field(default=None, compare=False)

    def __str__(self):
        return (
            f"metrics={self.given!r}, linkage={self.linkage!r}, "
            f"normalize={self.normalize!r}"
        )

    @property
    def n_matrices(self):
        return 2 if self.metrics[0].precomputed else 0

    def bind(self, estimator):
        metrics = tuple(metric.bind(estimator) for metric in self.metrics)
        return replace(self, metrics=metrics)

    @property
    def curve_bytes(self):
        engine = engine_bytes([self.linkage], 2, self.algorithm)
        return distance_bytes([self.linkage], 2) + engine

    @property
    def tree_bytes(self):
        scaled = 0 if self.normalize is None else distance_bytes([], 2)
        run = run_bytes([self.linkage], 2)
        return distance_bytes([self.linkage], 2) + scaled + run

    def measure(self, points, labels, loss, source, memory):
        distances, units, summary = self._distances(points), None, None
        if self.normalize == "mean":
            summary = mean_distances(distances)
        elif self.normalize is not None:
            summary = largest_distances(distances)
        if summary is not None:
            summary = tuple(summary.tolist())
        if self.normalize is not None:
            distances, units = in_binary_units(distances)
        identity = (labels, self.linkage, self.algorithm, loss, source, __version__)
        curve = recall(memory, _metric_curve, distances, *identity)
        return Measured(curve, units, summary)

    def conclude(self, measured, weights):
        if self.normalize is None:
            return self, [instance.curve for instance in measured]
        if self.normalize == "instance_max":
            return self, [
                self._stretched(instance, usable(instance.summary))
                for instance in measured
            ]
        scales = common_scales(
            self.normalize, 2, [instance.summary for instance in measured], weights
        )
        family = replace(self, scales=tuple(scales.tolist()))
        return family, [self._stretched(instance, scales) for instance in measured]

    def curve(self, points, labels, loss):
        measured = super().curve(points, labels, loss)
        if self.normalize is None:
            return measured.curve
        scales = usable(measured.summary) if self.scales is None else self.scales
        return self._stretched(measured, scales)

    def tree(self, points, beta):
        weights = weight_vector("beta", beta, "metrics", 2)
        distances = self._distances(points)
        return weighted_tree(
            distances, [self.linkage], [(1.0, 0.0)], weights, self._scale
        )

    def clusterer(self, beta):
        return InterpolatedLinkage(
            linkages=self.linkage, metric=self.given, beta=beta, scale=self._scale
        )

    @property
    def _scale(self):
        return "max" if self.normalize == "instance_max" else self.scales

    def _distances(self, points):
        precomputed = self.metrics[0].precomputed
        return stacked_distances(self.metrics, points if precomputed else [points] * 2)

    def _stretched(self, instance, scales):
        squared = self.linkage == "ward"
        return stretched(instance.curve, scale_factors(instance.units, scales, squared))


def _metric_curve(distances, labels, linkage, algorithm, loss, source, version):
    """Compute a curve from what identifies it: `source` and `version` only do that."""
    return metric_curve(distances, linkage, make_loss(loss, labels), algorithm)
