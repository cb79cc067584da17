"""Where the files that a suite names may lie: in its folder, or in the folder of policies that it
came from. Reads none of them.

A suite may come from somebody who may not read what policyd may read, such as its key.
"""

import os
from pathlib import Path

from policyd.policy.source.documents import Document


class Outside(ValueError):
    """A file that the suite must not name; says nothing of what is in it."""


def inside(suite: Document, name: str) -> Path:
    """The real path of a file that a suite names; links may lead to it (a ConfigMap's files are
    links into ``..data``), but not out of the folders.
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
