"""One instance under one family of algorithms, and what has to hold of it.

`test_properties.py` draws cases with hypothesis, `fuzz.py` at random for as long as
asked.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction

import joblib
import numpy as np
import oracle
import oracle_losses
from scipy.spatial.distance import squareform

from sklearn_linkage_learn import PiecewiseConstant
from sklearn_linkage_learn._distances import Metric
from sklearn_linkage_learn._learned import _MergeFamily
from sklearn_linkage_learn._learned_metric import _MetricFamily
from sklearn_linkage_learn._scales import largest_distances, usable
from sklearn_linkage_learn.losses import LOSSES, hamming_loss

ENGINES = ("kinetic", "execution_tree")
# Breakpoints are promised to this accuracy.
ACCURACY = 1e-12
# Parameters below this count as zero.
SMALLEST = 2.0**-100
# Execution trees of more take too long.
MOST_POINTS_OF_TREE = 40
_PRECOMPUTED = Metric("precomputed")
_NO_CACHE = joblib.Memory(None)


@dataclass(frozen=True)
class Case:
    """Condensed distances under each metric; two of them if there is one linkage."""

    distances: tuple
    labels: tuple
    linkages: tuple
    loss: str
    normalize: str | None = None

    @property
    def points(self):
        """The instance in the form in which learners hand it to their family."""
        squares = [
            squareform(np.array(d)) if len(d) else np.zeros((1, 1))
            for d in self.distances
        ]
        return squares[0] if len(squares) == 1 else np.stack(squares)

    def family(self, engine):
        if len(self.linkages) == 2:
            return _MergeFamily(self.linkages, "precomputed", engine)
        metrics = (_PRECOMPUTED, _PRECOMPUTED)
        return _MetricFamily(metrics, *self.linkages, self.normalize, None, engine)

    def learn(self, engine):
        """Return the final family and the instance's curve."""
        family, labels = self.family(engine), np.array(self.labels)
        measured = family.measure(self.points, labels, self.loss, None, _NO_CACHE)
        family, (curve,) = family.conclude([measured], [1.0])
        return family, curve

    def loss_of(self, tree):
        """Bounds of the loss of a tree, equal as a rule."""
        if self.loss == "hamming":
            return hamming_loss(tree, self.labels, return_interval=True)
        loss = LOSSES[self.loss](tree, self.labels)
        return loss, loss


def check(case, n_runs=None, rng=None):
    """Assert that both engines and the runs at fixed weights agree.

    With `n_runs`, the curve is compared with so many runs only, chosen by `rng`.
    """
    family, curve = case.learn("kinetic")
    if len(case.labels) <= MOST_POINTS_OF_TREE:
        _, other = case.learn("execution_tree")
        for t in far_from(curve.breakpoints, other.breakpoints):
            assert overlap(bounds(curve, t), bounds(other, t)), (
                f"at {t!r} the engines give {curve(t)!r} and {other(t)!r}"
            )
    at = [0.0, *far_from(curve.breakpoints)]
    if case.normalize is None:
        # Without scales, breakpoints are the very doubles where runs change.
        inner = curve.breakpoints[1:-1]
        inner = inner[inner > SMALLEST]
        at = [*at, *inner.tolist(), *np.nextafter(inner, 0).tolist()]
    if n_runs is not None and len(at) > n_runs:
        at = rng.choice(at, n_runs, replace=False).tolist()
    for t in at:
        loss = case.loss_of(family.tree(case.points, t))
        assert overlap(bounds(curve, t), loss), (
            f"at {t!r} the curve is {curve(t)!r}, but the run's loss {loss[1]!r}"
        )


def check_with_fractions(case):
    """Assert that curves and runs are those of the oracle."""
    family, curve = case.learn("kinetic")
    _, other = case.learn("execution_tree")
    pieces = oracle_pieces(case, family)
    starts = [start for start, _, _ in pieces]
    at = far_from(curve.breakpoints, other.breakpoints, [*map(float, starts), 1.0])
    last = [1.0] if 1 - starts[-1] > ACCURACY else []
    for t in [0.0, *at, *last]:
        _, _, run = pieces[bisect_right(starts, t) - 1]
        loss = float(oracle_losses.LOSSES[case.loss](oracle.children(run), case.labels))
        for found in (bounds(curve, t), bounds(other, t)):
            assert overlap(found, (loss, loss), 1e-13), (
                f"at {t!r} an engine gives {found[1]!r}, the oracle {loss!r}"
            )
        tree = family.tree(case.points, t)
        assert oracle.children(run) == [tuple(row) for row in tree[:, :2].astype(int)]


def far_from(*breakpoints):
    """The middles of all pieces but those too narrow for a promise."""
    ends = np.unique(np.concatenate(breakpoints))
    return ((ends[1:] + ends[:-1]) / 2)[np.diff(ends) > 2 * ACCURACY].tolist()


def bounds(curve, t):
    lower = (
        curve if curve.is_exact else PiecewiseConstant(curve.breakpoints, curve.lower)
    )
    return lower(t), curve(t)


def overlap(first, second, tolerance=0.0):
    """Whether a number may lie in both intervals."""
    return max(first[0], second[0]) <= min(first[1], second[1]) + tolerance


def oracle_pieces(case, family):
    if len(case.linkages) == 2:
        return oracle.breakpoints_and_runs(case.distances[0], case.linkages)
    (linkage,) = case.linkages
    scales = family.scales
    if case.normalize == "instance_max":
        scales = usable(largest_distances(np.array(case.distances))).tolist()
    power = 2 if linkage == "ward" else 1
    metrics = []
    for d, scale in zip(case.distances, scales or (1.0, 1.0), strict=True):
        divisor = Fraction(scale) ** power
        metrics.append([rounded_power(x, power) / divisor for x in d])
    if len(case.labels) == 1:
        metrics = [[[Fraction(0)]]] * 2
    return oracle.breakpoints_and_runs_metric(*metrics, linkage)


def rounded_power(x, power):
    """A power of a double, rounded to 53 bits whatever its size."""
    mantissa, exponent = math.frexp(x)
    return Fraction(mantissa**power) * Fraction(2) ** (exponent * power)
