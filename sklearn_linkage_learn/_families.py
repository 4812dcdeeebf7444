"""Which merge functions a family mixes, and the numbers its engines work on.

A merge function D is reducible if D(A + B, C) >= min(D(A, C), D(B, C)): then the
tree does not depend on the order in which mutually nearest clusters are merged.
Reducible functions stay so under any weights as long as single linkage, whose
minimum can pull a mean down, is not mixed with one that averages.
"""

import math

import numpy as np

from ._core.envelope import EnvelopeKinetic
from ._core.execution_tree import enumerate_tree
from ._core.greedy import Greedy
from ._core.kinetic import Kinetic
from ._core.linkage import extent, fixed_linkage
from ._core.spanning_tree import SpanningTree
from ._limits import check_room
from ._piecewise import PiecewiseConstant

# The codes are those of MergeFunction in _core/predicates.pxd.
LINKAGES = {"single": 0, "complete": 1, "average": 2, "weighted": 3, "ward": 4}
MIXABLE = ("single", "complete", "average")
_AVERAGING = {"average", "weighted"}
_METRIC_ENGINES = {
    "single": SpanningTree,
    "complete": EnvelopeKinetic,
    "average": Kinetic,
    "ward": Kinetic,
}


def is_reducible(linkages):
    """Whether every mix of these merge functions is reducible."""
    names = set(linkages)
    return not ("single" in names and names & _AVERAGING)


def choose_algorithm(algorithm="auto"):
    """Name the engine: every family has a kinetic one."""
    return "kinetic" if algorithm == "auto" else algorithm


def n_points_of(condensed):
    """Number of points whose pairwise distances a condensed array holds."""
    n_pairs = condensed.shape[-1]
    return (1 + math.isqrt(1 + 8 * n_pairs)) // 2


def distance_bytes(linkages, n_metrics):
    """How much memory distances take, with their squares if those are needed.

    Memory is given here and below in bytes for each of the n**2 ordered pairs of n
    points.
    """
    return n_metrics * (8.0 if "ward" in linkages else 4.0)


def run_bytes(linkages, n_metrics, sum_width=2):
    """About how much memory a run at fixed weights takes, besides the distances.

    Merged clusters have several rows of n doubles and points only one, but how many of
    both there are at once depends on the data: this is half way between least and most.
    """
    least, most = 8.0, 4.0 * max(2, 1 + _n_parts(linkages, n_metrics, sum_width))
    return (least + most) / 2


def engine_bytes(linkages, n_metrics, algorithm, sum_width=2):
    """About how much memory an engine takes, besides the distances.

    Most engines keep a row of n lines for each of the 2 n clusters. Of these, between
    two thirds and all are touched.
    """
    n_parts = _n_parts(linkages, n_metrics, sum_width)
    if algorithm == "execution_tree":
        # Numbers and deciding pairs of cluster pairs, and twice as much to undo merges.
        return 3 * (4.0 * n_parts + 2.0 * len(linkages))
    if n_metrics == 2 and linkages[0] == "single":
        n_parts = 0
    elif n_metrics == 2 and linkages[0] == "complete":
        n_parts = 4
    # An engine starts from a run at parameter 0.
    return max(16.0 * n_parts, run_bytes(linkages, n_metrics, sum_width))


def _n_parts(linkages, n_metrics, sum_width):
    """How many doubles hold the numbers between two clusters."""
    sums = sum(name in ("average", "ward") for name in linkages)
    return n_metrics * (len(linkages) + (sum_width - 1) * sums)


class Prepared:
    """Distances as engines take them, with what exact arithmetic has to know.

    Attributes
    ----------
    distances : ndarray of shape (n_metrics, n_pairs)
        Scaled by a power of two if they are extreme, then squared for Ward linkage.
    exponent : int
        That power of two, 0 for all but extreme data.
    """

    def __init__(self, distances, *, squared=False):
        if len(distances) == 1:
            distances = np.asarray(distances[0])[np.newaxis]
        self.distances = np.ascontiguousarray(distances, dtype=np.float64)
        self.n_points = n_points_of(self.distances)
        power = 2 if squared else 1
        low, top = extent(self.distances)
        self.exponent = _scale_exponent(low, top, power)
        if self.exponent:
            self.distances = np.ldexp(self.distances, self.exponent)
        if squared:
            self.distances = self.distances**2
        self._low = math.ldexp(low, self.exponent) ** power
        self._top = math.ldexp(top, self.exponent) ** power

    @property
    def sum_width(self):
        """How many doubles hold any sum of distances between two clusters exactly."""
        if self._top == 0.0:
            return 2
        bits = math.frexp(self._top)[1] - math.frexp(self._low)[1] + 53
        bits += max(self.n_points**2 // 4, 1).bit_length()
        return 2 if bits <= 104 else bits // 52 + 2

    def check_room(self, work, needed, linkages, *args):
        """Refuse work that takes more memory than there is.

        Only now it is known how long sums are. Few points can do with any.
        """
        if self.n_points <= 200:
            return
        per_pair = needed(linkages, len(self.distances), *args, self.sum_width)
        check_room(per_pair * self.n_points**2, work, self.n_points)

    def arguments(self, linkages):
        """What every engine takes first."""
        # Ward's criterion is a difference of terms up to n times the largest distance.
        slack = math.ldexp(self.n_points * self._top, -95)
        codes = np.array([LINKAGES[name] for name in linkages], dtype=np.int32)
        return self.distances, self.n_points, codes, self.sum_width, slack

    def run(self, linkages, alpha, beta):
        """Run at fixed weights: children, heights and sizes, in merge order."""
        n_merges = max(self.n_points - 1, 0)
        children = np.empty((n_merges, 2), dtype=np.int32)
        heights = np.empty(n_merges)
        sizes = np.empty(n_merges, dtype=np.int32)
        fixed_linkage(
            *self.arguments(linkages),
            _exact_weights(alpha),
            _exact_weights(beta),
            is_reducible(linkages),
            children,
            heights,
            sizes,
        )
        return children, heights, sizes

    def first_run(self, linkages, alpha, beta):
        """Children of the run at parameter 0, in merge order."""
        return self.run(linkages, alpha, beta)[0]


def merge_curve(condensed, linkages, loss, algorithm="auto"):
    """Loss of one instance for every mix of two merge functions.

    Parameters
    ----------
    condensed : ndarray of shape (n_pairs,)
        Condensed distances.
    linkages : pair of str
        The merge functions at parameter 0 and at 1.
    loss : TreeLoss
    algorithm : {"auto", "kinetic", "execution_tree"}

    Returns
    -------
    PiecewiseConstant
    """
    return _curve(merge_pieces(condensed, linkages, loss, algorithm))


def merge_pieces(condensed, linkages, loss, algorithm="auto"):
    """What the engine returns for :func:`merge_curve`, with its counts of work."""
    prepared = Prepared([condensed])
    prepared.check_room("Learning from", engine_bytes, linkages, algorithm)
    arguments = (*prepared.arguments(linkages), loss)
    if choose_algorithm(algorithm) == "execution_tree":
        return enumerate_tree(*arguments)
    engine = Kinetic if is_reducible(linkages) else Greedy
    return engine(*arguments).run(prepared.first_run(linkages, [1.0, 0.0], [1.0]))


def metric_curve(distances, linkage, loss, algorithm="auto"):
    """Loss of one instance for every mix of two metrics.

    Parameters
    ----------
    distances : ndarray of shape (2, n_pairs)
        Condensed distances under the metrics at parameter 0 and at 1. Ward linkage
        mixes their squares.
    linkage : str
        The merge function.
    loss : TreeLoss
    algorithm : {"auto", "kinetic", "execution_tree"}

    Returns
    -------
    PiecewiseConstant
    """
    return _curve(metric_pieces(distances, linkage, loss, algorithm))


def metric_pieces(distances, linkage, loss, algorithm="auto"):
    """What the engine returns for :func:`metric_curve`, with its counts of work."""
    prepared = Prepared(distances, squared=linkage == "ward")
    prepared.check_room("Learning from", engine_bytes, [linkage], algorithm)
    if choose_algorithm(algorithm) == "execution_tree":
        return enumerate_tree(*prepared.arguments([linkage]), loss)
    engine = _METRIC_ENGINES[linkage](*prepared.arguments([linkage] * 2), loss)
    return engine.run(prepared.first_run([linkage], [1.0], [1.0, 0.0]))


def mixed_linkage(distances, linkages, alpha, beta=((1.0, 0.0),)):
    """Linkage clustering of one instance at fixed weights, as scipy's `Z`.

    Parameters
    ----------
    distances : list of ndarray of shape (n_pairs,)
        Condensed distances, one array a metric.
    linkages : sequence of str
        Names of the merge functions.
    alpha, beta : array-like of shape (n_functions,) or (n_functions, 2)
        Weights of the merge functions and of the metrics. Two columns are a
        weight as the exact sum of two floats.

    Returns
    -------
    ndarray of shape (n_points - 1, 4)
        Rows in merge order.
    """
    ward = "ward" in linkages
    prepared = Prepared(distances, squared=ward)
    prepared.check_room("Clustering", run_bytes, linkages)
    children, heights, sizes = prepared.run(linkages, alpha, beta)
    Z = np.empty((len(heights), 4))
    Z[:, :2] = children
    Z[:, 3] = sizes
    if ward:
        # Rounded distances may be a little less than Euclidean.
        heights = np.sqrt(2 * np.maximum(heights, 0.0))
    Z[:, 2] = np.ldexp(heights, -prepared.exponent)
    return Z


def _scale_exponent(low, top, power):
    """Bring distances where exact products can neither underflow nor overflow.

    `low` and `top` are the least distance but zero and the largest one; engines work
    on this power of distances.
    """
    usual = 2.0 ** (-100 / power) <= top <= 2.0 ** (300 / power)
    if top == 0.0 or (usual and low >= 2.0 ** (-700 / power)):
        return 0
    if power * (math.log2(top) - math.log2(low)) > 1000:
        raise ValueError(
            f"distances span from {low:g} to {top:g}, too far for exact "
            "arithmetic: raise the smallest or lower the largest ones"
        )
    return 300 // power - math.frexp(top)[1]


def _curve(pieces):
    starts, values, lower = (np.asarray(column) for column in pieces.columns())
    return PiecewiseConstant(
        np.append(starts, 1.0), values, None if (lower == values).all() else lower
    )


def _exact_weights(weights):
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim == 1:
        weights = np.column_stack([weights, np.zeros_like(weights)])
    return np.ascontiguousarray(weights)
