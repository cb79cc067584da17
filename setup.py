"""Build the compiled modules: every .pyx under policyd/_core, and every .py with a .pxd beside it,
which gives its classes and functions C types, is one extension module. What Cython brings for its
functions, arguments and imports is in one more, instead of in each of them: a sixth of the code.

POLICYD_DEBUG=1: unoptimised build with symbols. POLICYD_TRACE=1: that, traced for coverage.
POLICYD_SANITIZE=1: with AddressSanitizer and UndefinedBehaviorSanitizer. POLICYD_FUZZ=1: every
branch and comparison is reported to a fuzzer. Only tools/asan and tools/fuzz can import these two.
POLICYD_COMPILED=1: it is compiled in place already; pip would do it again, in a folder of its own.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from setuptools import Extension, setup  # setuptools must be imported before Cython

from Cython.Build import cythonize  # isort: skip

COMPILED = os.environ.get("POLICYD_COMPILED") == "1"
TRACE = os.environ.get("POLICYD_TRACE") == "1"
DEBUG = TRACE or os.environ.get("POLICYD_DEBUG") == "1"
SANITIZERS = (
    # "undefined" lacks float-cast-overflow; frame pointers make the stacks of reports whole.
    ["-fsanitize=address,undefined,float-cast-overflow", "-fno-omit-frame-pointer"]
    if os.environ.get("POLICYD_SANITIZE") == "1"
    else []
)
# What gcc and clang both have; clang alone has counters of its own (fuzzer-no-link).
GUIDED = (
    ["-fsanitize-coverage=trace-pc", "-fsanitize-coverage=trace-cmp"]
    if os.environ.get("POLICYD_FUZZ") == "1"
    else []
)


def flags() -> list[str]:
    """Return what the compiler is told. -Ofast would break NaN and infinity: never here."""
    if DEBUG:
        return ["-O0", "-g3", "-UNDEBUG"]
    if SANITIZERS:
        return ["-O1", "-g1", "-UNDEBUG", *SANITIZERS]
    if GUIDED:
        return ["-O1", "-g0", "-UNDEBUG", *GUIDED]
    return ["-O3", "-g0", "-DNDEBUG"]


MACROS: list[tuple[str, str | None]] = (
    [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
    if TRACE
    else []
)


def compiled() -> list[Path]:
    """Return the sources of the extension modules."""
    core = Path("policyd/_core").rglob("*.pyx")
    headers = (each.with_suffix(".py") for each in Path("policyd").rglob("[!_]*.pxd"))
    return sorted([*core, *(source for source in headers if source.exists())])


SHARED = "policyd._core.cython_utility"  # of which Cython writes the source


def named() -> Iterator[tuple[str, str]]:
    """Yield the names of the extension modules and their sources."""
    yield SHARED, f"{SHARED.replace('.', '/')}.c"
    for source in compiled():
        yield ".".join(source.with_suffix("").parts), str(source)


extensions = [
    Extension(
        name,
        [source],
        extra_compile_args=[*flags(), "-Wall", "-Wsign-compare", "-Wno-unused-function"],
        extra_link_args=SANITIZERS,
        define_macros=MACROS,
    )
    for name, source in ([] if COMPILED else named())
]

setup(
    ext_modules=cythonize(
        extensions,
        compiler_directives={
            "language_level": "3",
            "annotation_typing": False,  # C types are those of the headers alone
            "linetrace": TRACE,
            "embedsignature": True,
            "embedsignature.format": "python",
        },
        shared_utility_qualified_name=SHARED,
        shared_utility_features_disabled=["MemoryView"],  # nothing uses it
        annotate=DEBUG,
        force=TRACE,  # a switched mode must regenerate the C files
        build_dir=None if TRACE else "build/cython",  # the coverage plugin wants .c beside .pyx
    )
)
