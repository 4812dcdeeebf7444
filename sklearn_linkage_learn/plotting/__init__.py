"""Pictures of what a learner found, in the manner of scikit-learn's displays."""

from ._cluster_strip import ClusterStripDisplay
from ._dendrogram import DendrogramDisplay
from ._loss_curve import LossCurveDisplay

__all__ = ["ClusterStripDisplay", "DendrogramDisplay", "LossCurveDisplay"]
