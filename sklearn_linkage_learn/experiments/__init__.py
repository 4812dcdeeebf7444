"""The experiments of the paper: ``python -m sklearn_linkage_learn.experiments``."""
