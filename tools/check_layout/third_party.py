"""Contract: which packages and modules of policyd may import which library."""

import sys
from collections.abc import Iterator, Mapping, Sequence

from tools.check_layout.imports import Import, is_below
from tools.check_layout.table import PLACE

# Modules that Cython itself declares, for cimports.
CYTHON = {"cython", "cpython", "libc", "libcpp", "posix"}


def problems(allowed: Mapping[str, Sequence[str]], imports: Sequence[Import]) -> Iterator[str]:
    """Imports that no row allows, then rows that are not needed."""
    used = set()
    for each in imports:
        library = each.imported.partition(".")[0]
        if each.inside or library in sys.stdlib_module_names or is_cython(each, library):
            continue
        rows = [
            package
            for package, libraries in allowed.items()
            if library in libraries and is_below(each.importer, package)
        ]
        used |= {(row, library) for row in rows}
        if not rows:
            places = sorted(package for package, row in allowed.items() if library in row)
            yield (
                f"{each.place}: {each.importer} may not import {library} ("
                + (f"only {', '.join(places)} may" if places else f"no package may, by {PLACE}")
                + "); use what those modules offer, or allow it in [third_party]"
            )
    for package, libraries in sorted(allowed.items()):
        for library in libraries:
            if (package, library) not in used:
                yield f"{PLACE}: {package} does not import {library}; delete it from [third_party]"


def is_cython(each: Import, library: str) -> bool:
    return library in CYTHON and each.path.endswith((".pyx", ".pxd"))
