"""Build the Cython core; all metadata stands in pyproject.toml."""

import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

CORE = Path("sklearn_linkage_learn") / "_core"
# Exact decisions need every product and sum to be rounded on its own. Nobody asks for
# floating-point exceptions, and loops with choices are vectorised without them.
if sys.platform == "win32":
    OPTIONS = {"extra_compile_args": ["/O2", "/fp:precise"]}
else:
    OPTIONS = {
        "extra_compile_args": ["-O3", "-ffp-contract=off", "-fno-trapping-math"],
        "libraries": ["m"],
    }

setup(
    ext_modules=cythonize(
        [
            Extension(
                ".".join(source.with_suffix("").parts), [source.as_posix()], **OPTIONS
            )
            for source in sorted(CORE.glob("*.pyx"))
        ],
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "embedsignature": True,
        },
    )
)
