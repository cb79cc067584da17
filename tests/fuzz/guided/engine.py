"""``python -m tests.fuzz.guided.engine TARGET [OPTIONS] CORPUS...``: one target under libFuzzer, with its
options. Runs in the copy of the tree that ``tools/fuzz`` builds, and never returns.

The core reports its basic blocks through ``counters.c``; policyd's Python is instrumented by atheris.
"""

import ctypes
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from types import ModuleType

from tests.fuzz.guided import running, table

# Python that reads bytes of others; the protocols of HTTP are policyd's by inheritance.
PACKAGES = ("policyd", "h11")
COUNTERS = Path("build/counters.so")
# The part of the mutations that libFuzzer makes itself, which knows no form but compared values.
UNFORMED = 0.3


def main() -> None:
    atheris = connected()
    name, *options = sys.argv[1:]
    with atheris.instrument_imports(include=[*PACKAGES], enable_loader_override=False):
        target = table.load(name)
        for seed in target.seeds():
            target.check(seed)  # what is imported at first use is instrumented, too

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        chance = Random(seed)
        if chance.random() < UNFORMED:
            return bytes(atheris.Mutate(data, most))
        return target.mutate(data, chance)[:most]

    # libFuzzer runs itself by its first argument, and leaves blanks in it alone.
    itself = f"{sys.executable} -m tests.fuzz.guided.engine {name}"
    atheris.Setup(
        [itself, *options],
        lambda data: running.bounded(target.check, bytes(data)),
        custom_mutator=mutate,
        internal_libfuzzer=True,
    )
    atheris.Fuzz()


def connected() -> ModuleType:
    """Import atheris; make libFuzzer in it visible to instrumented modules, and tell it our counters."""
    counters = ctypes.CDLL(str(COUNTERS.resolve()), mode=ctypes.RTLD_GLOBAL)
    _global("atheris.custom_mutator")  # libFuzzer looks for it when it is loaded
    fuzzer = _global("atheris.core_with_libfuzzer")
    bits = ctypes.c_int.in_dll(counters, "bits").value
    for name, tell, size in (
        ("counters", "__sanitizer_cov_8bit_counters_init", 1 << bits),
        ("places", "__sanitizer_cov_pcs_init", (2 << bits) * ctypes.sizeof(ctypes.c_void_p)),
    ):
        start = ctypes.addressof((ctypes.c_char * size).in_dll(counters, name))
        fuzzer[tell](ctypes.c_void_p(start), ctypes.c_void_p(start + size))
    return import_module("atheris")


def _global(module: str) -> ctypes.CDLL:
    found = find_spec(module)
    assert found is not None and found.origin
    return ctypes.CDLL(found.origin, mode=ctypes.RTLD_GLOBAL)


if __name__ == "__main__":
    main()
