"""Learn the best linkage clustering algorithm from labelled instances, exactly."""

from . import losses
from ._interpolated import InterpolatedLinkage
from ._learned import LearnedLinkage
from ._piecewise import PiecewiseConstant, widest_optimal_interval
from ._version import __version__

__all__ = [
    "InterpolatedLinkage",
    "LearnedLinkage",
    "PiecewiseConstant",
    "__version__",
    "losses",
    "widest_optimal_interval",
]
