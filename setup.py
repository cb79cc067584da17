"""Build the compiled core: every .pyx under policyd/_core is one extension module.

POLICYD_DEBUG=1: unoptimised build with symbols. POLICYD_TRACE=1: that, traced for coverage.
POLICYD_COMPILED=1: it is compiled in place already; pip would do it again, in a folder of its own.
"""

import os
from pathlib import Path

from setuptools import Extension, setup  # setuptools must be imported before Cython

from Cython.Build import cythonize  # isort: skip

COMPILED = os.environ.get("POLICYD_COMPILED") == "1"
TRACE = os.environ.get("POLICYD_TRACE") == "1"
DEBUG = TRACE or os.environ.get("POLICYD_DEBUG") == "1"
# -Ofast would break NaN and infinity: never here.
CFLAGS = ["-O0", "-g3", "-UNDEBUG"] if DEBUG else ["-O3", "-g0", "-DNDEBUG"]
MACROS: list[tuple[str, str | None]] = (
    [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
    if TRACE
    else []
)

sources = [] if COMPILED else sorted(Path("policyd/_core").rglob("*.pyx"))
extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [str(source)],
        extra_compile_args=[*CFLAGS, "-Wall", "-Wsign-compare", "-Wno-unused-function"],
        define_macros=MACROS,
    )
    for source in sources
]

setup(
    ext_modules=cythonize(
        extensions,
        compiler_directives={
            "language_level": "3",
            "linetrace": TRACE,
            "embedsignature": True,
            "embedsignature.format": "python",
        },
        annotate=DEBUG,
        force=TRACE,  # a switched mode must regenerate the C files
        build_dir=None if TRACE else "build/cython",  # the coverage plugin wants .c beside .pyx
    )
)
