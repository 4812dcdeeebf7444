"""Benchmarks for airspeed velocity (asv), to follow costs from commit to commit.

In a checkout whose core is compiled, to try all of them once::

    cd benchmarks && asv run --python=same --quick

Without these two options asv builds and measures commits in environments of its own.
"""
