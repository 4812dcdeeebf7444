"""Benchmarks for airspeed velocity (asv), to follow costs from commit to commit.

To try all of them once, in a checkout whose core is compiled (``asv machine --yes``
before the first time)::

    cd benchmarks && asv run --python=same --quick

Without the options asv builds and measures commits, in environments of its own.
"""
