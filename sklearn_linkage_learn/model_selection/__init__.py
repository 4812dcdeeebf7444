"""Comparisons of learners with clusterers of scikit-learn, on the same instances."""

from ._compare import compare
from ._per_instance import PerInstanceClusterer

__all__ = ["PerInstanceClusterer", "compare"]
