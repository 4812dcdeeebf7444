"""Distributions of labelled clustering instances to learn from and to test with."""

from ._digits import make_digits_instances
from ._synthetic import make_rings_and_disks

__all__ = ["make_digits_instances", "make_rings_and_disks"]
