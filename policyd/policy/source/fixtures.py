"""Check that the files of a suite are in its folder or in the source folder of policies that
contains it. Reads none of them.

The author of a suite may lack access to files that policyd can read, such as its TLS key.
"""

import os
from pathlib import Path

from policyd.policy.source.documents import Document


class Outside(ValueError):
    """A file that the suite must not name; the message shows none of its content."""


def inside(suite: Document, name: str) -> Path:
    """Return the real path of a file that a suite names.

    Links are followed (a ConfigMap's files are links into ``..data``), but not out of the folders.
    """
    folder = Path(suite.file).parent
    try:
        real = Path(os.path.realpath(folder / name))
    except ValueError:  # a NUL, or half of a surrogate pair
        raise Outside(f"{name!r}: not a path") from None
    roots = {os.path.realpath(folder), suite.root or os.path.realpath(folder)}
    if not any(real.is_relative_to(root) for root in roots):
        raise Outside(f"{name}: outside the directory of the policies")
    return real
