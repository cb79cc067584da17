"""Build the compiled modules: every .pyx under policyd/_core, and every .py with a .pxd beside it,
which gives its classes and functions C types, is one extension module. What Cython brings for its
functions, arguments and imports is in one more, instead of in each of them: a sixth of the code.

POLICYD_DEBUG=1: unoptimised build with symbols. POLICYD_TRACE=1: that, traced for coverage.
POLICYD_SANITIZE=1: with AddressSanitizer and UndefinedBehaviorSanitizer. POLICYD_FUZZ=1: every
branch and comparison is reported to a fuzzer. Only tools/asan and tools/fuzz can import these two.
POLICYD_COMPILED=1: it is compiled in place already; pip would do it again, in a folder of its own.
"""

import contextlib
import copy
import gc
import hashlib
import io
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from setuptools import Extension, setup  # setuptools must be imported before Cython
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError
from setuptools.modified import newer

from Cython.Build import cythonize  # isort: skip
from Cython.Build.Dependencies import create_dependency_tree  # isort: skip
from Cython.Compiler.Errors import CompileError as TranslationError  # isort: skip

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


def flags(name: str) -> list[str]:
    """Return what the compiler is told. -Ofast would break NaN and infinity: never here."""
    if DEBUG:
        return ["-O0", "-g3", "-UNDEBUG"]
    if SANITIZERS:
        return ["-O1", "-g1", "-UNDEBUG", *SANITIZERS]
    if GUIDED:
        return ["-O1", "-g0", "-UNDEBUG", *GUIDED]
    level = next((level for pattern, level in LEVELS.items() if fnmatchcase(name, pattern)), "-Og")
    return [level, "-g0", "-DNDEBUG"]


# By instruction counts: loops over bytes and items take up to six times as many with -O1 as with
# -O3, other code of requests a few percent more. -Og compiles three times as fast as -O3; for the
# rest, which mostly calls Python, it is enough.
LEVELS = {
    "policyd._core.json.*": "-O3",
    "policyd._core.regex.*": "-O3",
    "policyd._core.eval.folds": "-O3",
    "policyd._core.plan.plan": "-O3",
    "policyd._core.plan.*": "-O2",
    "policyd._core.eval.*": "-O1",
    "policyd._core.match.*": "-O1",
    "policyd._core.patch.*": "-O2",
    "policyd._core.schema.*": "-O2",
    "policyd._core.values.*": "-O2",
}

# What Cython marks as run once, when a module is imported, is a fifth of the code.
ONCE = ("CYTHON_SMALL_CODE", '__attribute__((cold, optimize("O0")))')

MACROS: list[tuple[str, str]] = (
    [("CYTHON_TRACE", "1"), ("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]
    if TRACE
    else [ONCE]
)


def compiled() -> list[Path]:
    """Return the sources of the extension modules, the largest first: no core is left with it."""
    core = Path("policyd/_core").rglob("*.pyx")
    headers = (each.with_suffix(".py") for each in Path("policyd").rglob("[!_]*.pxd"))
    found = sorted([*core, *(source for source in headers if source.exists())])
    return sorted(found, key=lambda source: source.stat().st_size, reverse=True)


SHARED = "policyd._core.cython_utility"  # of which Cython writes the source


def named() -> Iterator[tuple[str, str]]:
    """Yield the names of the extension modules and their sources."""
    yield SHARED, f"{SHARED.replace('.', '/')}.c"
    for source in compiled():
        yield ".".join(source.with_suffix("").parts), str(source)


TRANSLATION: dict[str, Any] = {
    "compiler_directives": {
        "language_level": "3",
        "annotation_typing": False,  # C types are those of the headers alone
        "auto_pickle": False,
        "emit_code_comments": DEBUG,
        "linetrace": TRACE,
        "embedsignature": True,
        "embedsignature.format": "python",
    },
    "shared_utility_qualified_name": SHARED,
    "shared_utility_features_disabled": ["MemoryView"],  # nothing uses it
    "annotate": DEBUG,
    "build_dir": None if TRACE else "build/cython",  # the coverage plugin wants .c beside .pyx
}


def translate(extension: Extension, *, again: bool) -> None:
    """Write the C of a module, if its sources changed, or ``again``."""
    options = copy.deepcopy(TRANSLATION)  # Cython adds to them
    with contextlib.redirect_stdout(io.StringIO()):  # its progress; standard error has its errors
        # A traced module must regenerate the C file.
        (result,) = cythonize([extension], force=TRACE or again, **options)
    extension.sources = result.sources


class Progress:
    """How many modules are compiled: on a terminal a line that changes, otherwise a few lines."""

    def __init__(self, modules: int) -> None:
        fork = multiprocessing.get_context("fork")
        self._step = -(-modules // 5)
        self._compiled, self._left = fork.Value("i", 0), fork.Value("i", modules)

    def add(self, *, compiled: bool) -> None:
        """Count a module, which was up to date if it is not compiled."""
        with self._left.get_lock():
            self._compiled.value += compiled
            self._left.value -= 1
            if not (compiled and self._left.value):
                return
            if sys.stdout.isatty():
                self._print("\r")  # whatever is printed next replaces it
            elif self._compiled.value % self._step == 0:
                self._print("\n")

    def end(self) -> None:
        """Print how many were compiled, if any."""
        if self._compiled.value:
            self._print("\n")

    def _print(self, end: str) -> None:
        compiled = self._compiled.value
        print(f"modules compiled: {compiled} of {compiled + self._left.value}", end=end, flush=True)


class Build(build_ext):
    """Build the modules in as many processes as there are cores: each is compiled as soon as it is
    translated. A killed build leaves no part of a module.
    """

    def build_extensions(self) -> None:
        """Share the modules among processes."""
        fork = multiprocessing.get_context("fork")  # what is imported and read is theirs, too
        cores = int(self.parallel or os.cpu_count() or 1)
        todo: SimpleQueue[int | None] = fork.SimpleQueue()
        for index in (*range(len(self.extensions)), *(None for _ in range(cores))):
            todo.put(index)
        self._precompile()
        for ext in self.extensions:
            if ext.name != SHARED:  # read once for all processes
                create_dependency_tree().all_dependencies(ext.sources[0])
        gc.set_threshold(1_000_000)  # nearly all that Cython makes lives until its module is done
        progress = Progress(len(self.extensions))
        workers = [fork.Process(target=self._build, args=(todo, progress)) for _ in range(cores)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        progress.end()
        if any(each.exitcode for each in workers):
            raise CompileError("not all modules could be compiled")

    def _precompile(self) -> None:
        """Parse the header of Python once for all modules with the same arguments, if the compiler
        can; those that cannot read the result parse the header itself.
        """
        for ext in self.extensions:
            header = self._header(ext)
            if header.exists():
                continue
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text("#define PY_SSIZE_T_CLEAN\n#include <Python.h>\n")
            directories = (f"-I{each}" for each in self.compiler.include_dirs)
            macros = (f"-D{macro}={value}" for macro, value in ext.define_macros)
            result = header.with_suffix(".h.gch")
            made = Path(f"{result}.new")
            command = [*self.compiler.compiler_so, *directories, *macros, *ext.extra_compile_args]
            command += ["-x", "c-header", str(header), "-o", str(made)]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                made.replace(result)

    def _header(self, ext: Extension) -> Path:
        """Return the header that a module starts with. It has another name with other arguments,
        compilers and versions of Python.
        """
        key = json.dumps([sys.version, self._settings(ext)[1]])
        digest = hashlib.sha256(key.encode()).hexdigest()[:16]
        return Path(self.build_temp, "headers", digest, "python.h").absolute()

    def _build(self, todo: "SimpleQueue[int | None]", progress: Progress) -> None:
        """Build modules until there are none left, or one fails: its compiler has printed why."""
        self.compiler.link_shared_object = self._whole(self.compiler.link_shared_object)
        while (index := todo.get()) is not None:
            ext = self.extensions[index]
            module = Path(self.get_ext_fullpath(ext.name))
            before = module.stat().st_mtime_ns if module.exists() else 0
            try:
                self.build_extension(ext)
            except (CompileError, LinkError, TranslationError) as error:
                raise SystemExit(f"{ext.name}: {error}") from None
            progress.add(compiled=module.stat().st_mtime_ns != before)

    @staticmethod
    def _whole(link: Callable[..., None]) -> Callable[..., None]:
        """Make a linker write beside its file, and then rename."""

        def linked(objects: list[str], file: str, **options: Any) -> None:
            link(objects, f"{file}.new", **options)
            Path(f"{file}.new").replace(file)

        return linked

    def build_extension(self, ext: Extension) -> None:
        """Translate and compile a module, if it is not up to date: its sources changed, or what
        the compilers are told.
        """
        source = Path("build/cython", ext.sources[0]).with_suffix(".c")
        # C that is newer than its module was written by a build that was killed, perhaps in part.
        killed = source.exists() and newer(source, self.get_ext_fullpath(ext.name))
        mark = Path(self.build_temp, *ext.name.split(".")).with_suffix(".settings")
        settings = self._settings(ext)
        translated, _, compiled = (mark.read_text() if mark.exists() else "").partition("\n")
        current = [translated, compiled] == settings
        if not current:
            mark.unlink(missing_ok=True)
        translate(ext, again=killed or translated != settings[0])
        force, self.force = self.force, self.force or not current
        ext.extra_compile_args += ["-include", str(self._header(ext))]
        super().build_extension(ext)
        self.force = force
        if not current:
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.write_text("\n".join(settings))

    def _settings(self, ext: Extension) -> list[str]:
        """Return how a module is translated, and how it is compiled: a line each."""
        command = [*self.compiler.compiler_so, *self.compiler.linker_so]
        arguments = [*ext.extra_compile_args, *ext.extra_link_args, *map(str, ext.define_macros)]
        return [json.dumps(TRANSLATION), json.dumps([*command, *arguments])]

    def copy_file(self, infile: str, outfile: str, *args: Any, **options: Any) -> tuple[str, bool]:
        """Copy a module into the tree under another name, and rename it: others may run it."""
        if not newer(infile, outfile):
            return outfile, False
        super().copy_file(infile, f"{outfile}.new", *args, **options)
        Path(f"{outfile}.new").replace(outfile)
        return outfile, True


setup(
    ext_modules=[
        Extension(
            name,
            [source],
            extra_compile_args=[*flags(name), "-Wall", "-Wsign-compare", "-Wno-unused-function"],
            extra_link_args=SANITIZERS,
            define_macros=MACROS,
        )
        for name, source in ([] if COMPILED else named())
    ],
    cmdclass={"build_ext": Build},
)
