"""Take the compiled modules from the wheel in dist/, where there is no compiler.

``tools/build`` runs it: `make demo` of a source distribution needs no compiler if its ``dist`` has
the wheel of the same version, for this Python and machine. Imports only what Python has.
"""

import platform
import sys
import zipfile
from pathlib import Path

from policyd import __version__

_ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    """Unpack them into the tree. Raises SystemExit if there is no such wheel."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    name = f"policyd-{__version__}-{tag}-{tag}-*_{platform.machine()}.whl"
    found = sorted((_ROOT / "dist").glob(name))
    if not found:
        raise SystemExit(f"install a C compiler, or put the wheel {name} into dist/")
    with zipfile.ZipFile(found[-1]) as archive:
        modules = [each for each in archive.namelist() if each.endswith(".so")]
        archive.extractall(_ROOT, modules)
    print(f"took {len(modules)} compiled modules from dist/{found[-1].name}")


if __name__ == "__main__":
    main()
