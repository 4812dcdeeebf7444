"""Build the Cython core; all metadata stands in pyproject.toml."""

import os
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

# The files are compiled side by side.
OPTIONS_OF_BUILD = {"build_ext": {"parallel": os.cpu_count()}}

# .ci/sanitize asks for a core in which every access to memory is checked. Python asks
# for integers that wrap around, which would keep overflows from being found.
CHECKED = os.environ.get("LINKAGE_LEARN_CHECKED") == "1"
if CHECKED:
    SANITIZERS = ["-fsanitize=address,undefined,float-cast-overflow"]
    OPTIONS["define_macros"] = [("SLL_CHECKED", "1")]
    OPTIONS["extra_link_args"] = SANITIZERS
    OPTIONS["extra_compile_args"] += [
        *SANITIZERS,
        *("-fno-sanitize-recover=all", "-fno-wrapv"),
        *("-O1", "-g", "-fno-omit-frame-pointer"),
    ]

setup(
    options=OPTIONS_OF_BUILD,
    ext_modules=cythonize(
        [
            Extension(
                ".".join(source.with_suffix("").parts), [source.as_posix()], **OPTIONS
            )
            for source in sorted(CORE.glob("*.pyx"))
        ],
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": CHECKED,
            "embedsignature": True,
        },
        force=CHECKED,
    ),
)
