"""The learner of a mix of two linkages, and its family of algorithms."""

from dataclasses import dataclass, field

from sklearn.utils._param_validation import StrOptions

from ._base import Family, InstanceLearner
from ._distances import METRICS, condensed_distances
from ._families import (
    MIXABLE,
    choose_algorithm,
    distance_bytes,
    engine_bytes,
    merge_curve,
    run_bytes,
)
from ._interpolated import InterpolatedLinkage, weight_vector, weighted_tree
from ._store import recall
from ._version import __version__
from .losses import make_loss


class LearnedLinkage(InstanceLearner):
    """Learn the best mix of two linkages from clustered instances, exactly.

    It is inductive over *instances*: learn on some instances whose clustering is
    known, then cluster new instances of the same kind. An instance is a whole data
    set, such as one day's emails or one customer's records; points of different
    instances are never compared.

    The family of algorithms is agglomerative clustering by ::

        D(A, B) = (1 - alpha) D0(A, B) + alpha D1(A, B)

    for two merge functions and all alpha in [0, 1]. The loss of every algorithm of
    the family is computed on every training instance, not for a grid but for all
    alpha, and alpha is chosen where the mean loss is least.

    Parameters
    ----------
    linkages : tuple of two str, default=("single", "complete")
        The merge functions D0 and D1: two of ``"single"``, ``"complete"`` and
        ``"average"``.

    metric : str or callable, default="euclidean"
        Distance of points: a name known to scipy's
        :func:`~scipy.spatial.distance.pdist` or a function of two rows.
        ``"precomputed"`` means that instances are square distance matrices.

    n_clusters : int, default=None
        The number of clusters that `predict` makes. By default the number of classes
        that all training instances have in common. Learning and `score` take the
        number of classes of each instance.

    distance_threshold : float, default=None
        `predict` stops merging when the nearest clusters are at this distance or
        further. At most one of it and `n_clusters` can be set.

    loss : str or callable, default="hamming"
        What a cluster tree is judged by, see :mod:`sklearn_linkage_learn.losses`:
        ``"hamming"`` is the least fraction of misplaced points over all prunings of
        the tree into as many clusters as there are classes, ``"majority"`` lets
        several of the pruned clusters have one class, ``"cut"`` and ``"ari"`` judge
        the flat clusters that `predict` returns, ``"dendrogram_purity"`` the whole
        tree. A callable gets a scipy tree and the labels, and returns a float. It is
        called once for each cluster tree that comes up as alpha grows: if it looks at
        heights, or at the order of merges in different parts of a tree, it may change
        within a piece of the curve.

    algorithm : {"auto", "kinetic", "execution_tree"}, default="auto"
        How to compute the curves. ``"kinetic"`` repairs one cluster tree while alpha
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
    alpha_ : float
        The learned weight of the second linkage: the middle of `alpha_interval_`.

    alpha_interval_ : tuple of two floats
        The widest interval on which the mean loss is least.

    loss_ : float
        The least mean loss.

    loss_curve_ : PiecewiseConstant
        The mean loss of the training instances at every alpha.

    instance_curves_ : list of PiecewiseConstant
        The loss of each training instance at every alpha.

    instance_weight_ : ndarray of shape (n_instances_,)
        The weight of each training instance, 1 by default.

    clusterer_ : InterpolatedLinkage
        The learned algorithm, not fitted, for use without this estimator. Its
        `n_clusters` is None, and has to be set, if neither the constructor nor the
        training instances decide on one.

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
    LearnedMetricLinkage : Learns the mix of two metrics.
    InterpolatedLinkage : The algorithm at one alpha.
    to_json : Keeps what was learned, as plain JSON.

    References
    ----------
    M.-F. Balcan, T. Dick, M. Lang, "Learning to Link", ICLR 2020.

    Examples
    --------
    Learn on eight instances of 200 points each, and cluster two new ones:

    >>> from sklearn_linkage_learn import LearnedLinkage
    >>> from sklearn_linkage_learn.datasets import make_rings_and_disks
    >>> X, y = make_rings_and_disks(10, n_per_cluster=50, random_state=0)
    >>> learner = LearnedLinkage(("single", "complete")).fit(X[:8], y[:8])
    >>> round(learner.alpha_, 3)
    0.087
    >>> [labels.shape for labels in learner.predict(X[8:])]
    [(200,), (200,)]

    The mean loss of single linkage, of the learned mix, and of complete linkage:

    >>> learner.loss_curve_([0, learner.alpha_, 1]).round(2)
    array([0.25, 0.07, 0.25])
    """

    _parameter = "alpha"

    _parameter_constraints = {
        **InstanceLearner._parameter_constraints,
        "linkages": [tuple, list],
        "metric": [StrOptions(METRICS | {"precomputed"}), callable],
    }

    def __init__(
        self,
        linkages=("single", "complete"),
        *,
        metric="euclidean",
        n_clusters=None,
        distance_threshold=None,
        loss="hamming",
        algorithm="auto",
        n_jobs=None,
        memory=None,
        verbose=0,
    ):
        self.linkages = linkages
        self.metric = metric
        self.n_clusters = n_clusters
        self.distance_threshold = distance_threshold
        self.loss = loss
        self.algorithm = algorithm
        self.n_jobs = n_jobs
        self.memory = memory
        self.verbose = verbose

    def _make_family(self):
        linkages = tuple(self.linkages)
        known = all(isinstance(name, str) and name in MIXABLE for name in linkages)
        if len(linkages) != 2 or not known or linkages[0] == linkages[1]:
            raise ValueError(
                f"linkages must be two different names of {sorted(MIXABLE)}, got "
                f"{self.linkages!r}."
            )
        algorithm = choose_algorithm(self.algorithm)
        return _MergeFamily(linkages, self.metric, algorithm)


@dataclass(frozen=True)
class _MergeFamily(Family):
    """Two merge functions on one metric, mixed by alpha."""

    linkages: tuple
    metric: object
    # Engines compute the same curves.
    algorithm: str = field(compare=False)

    def __str__(self):
        return f"linkages={self.linkages!r}, metric={self.metric!r}"

    @property
    def n_matrices(self):
        return int(isinstance(self.metric, str) and self.metric == "precomputed")

    @property
    def curve_bytes(self):
        engine = engine_bytes(self.linkages, 1, self.algorithm)
        return distance_bytes(self.linkages, 1) + engine

    @property
    def tree_bytes(self):
        return distance_bytes(self.linkages, 1) + run_bytes(self.linkages, 1)

    def measure(self, points, labels, loss, source, memory):
        distances = condensed_distances(points, self.metric)
        identity = (labels, self.linkages, self.algorithm, loss, source, __version__)
        return recall(memory, _merge_curve, distances, *identity)

    def tree(self, points, alpha):
        distances = condensed_distances(points, self.metric)
        weights = weight_vector("alpha", alpha, "linkages", 2)
        return weighted_tree([distances], self.linkages, weights, [(1.0, 0.0)])

    def clusterer(self, alpha):
        return InterpolatedLinkage(
            linkages=self.linkages, alpha=alpha, metric=self.metric
        )


def _merge_curve(distances, labels, linkages, algorithm, loss, source, version):
    """Compute a curve from what identifies it: `source` and `version` only do that."""
    return merge_curve(distances, linkages, make_loss(loss, labels), algorithm)
