"""Compile the C that Cython wrote, for any Python and machine, with Zig's C compiler.

Which modules there are, and how each is optimized, is in setup.py. Cython is not run: `make build`
has done that, and its C is the same for every Python.
"""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import setuptools  # noqa: F401 - it brings distutils where Python has none

import distutils.core  # isort: skip

from tools.image.settings import ROOT
from tools.release.headers import Headers
from tools.release.settings import BUILD, Target

# Zig knows three levels: whatever else is asked for is -O2.
_LEVELS = {"-Og": "-Os"}
_COMPILE = [
    "-fPIC",
    "-fwrapv",  # as Python itself
    "-fomit-frame-pointer",
    "-fstack-protector-strong",
    "-fno-sanitize=undefined",
    "-Wno-ignored-attributes",  # setup.py's optimize("O0") is gcc's
    "-Wno-unknown-attributes",
    f"-ffile-prefix-map={ROOT}=.",
]
# Variables that setup.py reads.
_OTHER_BUILDS = [f"POLICYD_{name}" for name in ("COMPILED", "DEBUG", "TRACE", "SANITIZE", "FUZZ")]
_LINK = ["-shared", "-s", "-Wl,-z,relro,-z,now"]


def modules(target: Target, headers: Headers, zig: Path) -> dict[str, Path]:
    """Compile every module; return where each is, by its name in the wheel."""
    if refused := [name for name in _OTHER_BUILDS if name in os.environ]:
        raise SystemExit(f"a release is not built with {refused[0]}: unset {refused[0]}")
    folder = BUILD / "modules" / str(target)
    found = {}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        waiting = []
        for each in extensions():
            module = folder / f"{each.name.replace('.', '/')}{target.suffix}"
            found[str(module.relative_to(folder))] = module
            waiting.append(pool.submit(_module, each, module, target, headers, zig))
        for each in waiting:
            each.result()
    return found


def extensions() -> list[Any]:
    """The extension modules of setup.py."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return list(distutils.core.run_setup("setup.py", stop_after="init").ext_modules)
    finally:
        os.chdir(before)


def arguments(extension: Any) -> list[str]:
    """What the compiler is told about one module, without what depends on the target."""
    macros = [f"-D{name}={value}" for name, value in extension.define_macros]
    return [*(_LEVELS.get(each, each) for each in extension.extra_compile_args), *macros]


def _module(extension: Any, module: Path, target: Target, headers: Headers, zig: Path) -> None:
    source = Path("build/cython", extension.sources[0]).with_suffix(".c")
    module.parent.mkdir(parents=True, exist_ok=True)
    made = module.with_suffix(".o")
    include = [f"-I{each}" for each in headers.folders]
    compiler = [str(zig), "cc", "-target", target.triple]
    _run(
        [*compiler, *arguments(extension), *_COMPILE, *include, "-c", str(source), "-o", str(made)]
    )
    _run([*compiler, *_LINK, str(made), "-o", str(module)])
    made.unlink()


def _run(command: list[str]) -> None:
    caches = {f"ZIG_{name}_CACHE_DIR": str(BUILD / "zig") for name in ("GLOBAL", "LOCAL")}
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | caches, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-4000:]}")
