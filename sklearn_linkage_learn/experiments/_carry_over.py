"""Whether a learned parameter carries over to new instances.

The first half of the instances is there to learn from, the second half is held out.
As curves are exact, the loss of any choice on the held-out instances is read off
their mean curve.
"""

import math

import numpy as np
from scipy.stats import t as student

from .._piecewise import PiecewiseConstant, widest_optimal_interval

SIZES = (1, 3, 10, 30, 100, 300)
GRIDS = (10, 100, 1000)
TOLERANCES = (0.001, 0.005, 0.01)
REPEATS = 50


def carry_over(curves, usual, seed=0):
    """Study what is learned from some instances on others.

    Parameters
    ----------
    curves : list of PiecewiseConstant
        One for each instance, at least four.

    usual : list of dict
        Losses of linkages that need no learning, for each instance, and for more.

    seed : int, default=0
        Of the choice of instances to learn from.

    Returns
    -------
    study : dict
        ``hindsight``, the least loss of any parameter on the held-out instances;
        ``sizes``, the held-out loss after learning from so many instances, over
        `REPEATS` choices of them; ``usual``, that of other linkages and by how much
        they are worse; ``width``, how much of [0, 1] is almost optimal; ``grids``,
        what is lost if only so many values are tried.
    """
    half = len(curves) // 2
    train, test = curves[:half], curves[half:]
    usual = usual[half : len(curves)]
    mean = PiecewiseConstant.mean(train)
    held_out = PiecewiseConstant.mean(test)
    best = optimum(mean)
    learned = np.array([curve(best) for curve in test])
    return {
        "parameter": best,
        "loss": held_out(best),
        "hindsight": held_out.min(),
        "sizes": _by_size(train, held_out, np.random.RandomState(seed)),
        "usual": {
            name: _paired([losses[name] for losses in usual], learned)
            for name in usual[0]
        },
        "width": {tol: _width(mean, tol) for tol in TOLERANCES},
        "grids": {count: _of_grid(count, mean, held_out, best) for count in GRIDS},
    }


def optimum(curve):
    """The parameter that a learner takes: the middle of the widest minimum."""
    return sum(widest_optimal_interval(curve)) / 2


def _by_size(train, held_out, rng):
    """Mean held-out loss, and its tenth and ninetieth percentile over repetitions."""
    found = {}
    for size in SIZES:
        if size > len(train):
            break
        choices = [rng.choice(len(train), size, replace=False) for _ in range(REPEATS)]
        parameters = [
            optimum(PiecewiseConstant.mean([train[i] for i in choice]))
            for choice in choices
        ]
        losses = held_out(parameters)
        low, high = np.quantile(losses, [0.1, 0.9])
        found[size] = {"loss": losses.mean(), "low": low, "high": high}
    return found


def _paired(losses, learned):
    """A mean loss, how far it is above that of what was learned, and a 95 % margin."""
    excess = np.subtract(losses, learned)
    error = excess.std(ddof=1) / math.sqrt(len(excess))
    margin = student.ppf(0.975, len(excess) - 1) * error
    return {"loss": np.mean(losses), "excess": excess.mean(), "margin": margin}


def _width(curve, tol):
    intervals = curve.argmin_intervals(tol)
    return np.diff(intervals).sum()


def _of_grid(count, mean, held_out, best):
    """What the best of some equally spaced values loses, in learning and held out."""
    values = np.linspace(0, 1, count)
    chosen = values[np.argmin(mean(values))]
    return {
        "learning": mean(chosen) - mean.min(),
        "held_out": held_out(chosen) - held_out(best),
    }
