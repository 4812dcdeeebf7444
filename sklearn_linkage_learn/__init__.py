"""Learn the best linkage clustering algorithm from labelled instances, exactly."""

from . import losses, metrics
from ._export import from_json, to_json
from ._interpolated import InterpolatedLinkage
from ._learned import LearnedLinkage
from ._learned_metric import LearnedMetricLinkage
from ._piecewise import PiecewiseConstant, widest_optimal_interval
from ._version import __version__

__all__ = [
    "InterpolatedLinkage",
    "LearnedLinkage",
    "LearnedMetricLinkage",
    "PiecewiseConstant",
    "__version__",
    "from_json",
    "losses",
    "metrics",
    "to_json",
    "widest_optimal_interval",
]
