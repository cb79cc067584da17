"""An import statement before its names are resolved to modules."""

from typing import NamedTuple


class Statement(NamedTuple):
    """``from ..module import names`` has level 2; ``names`` is None for ``import module``."""

    line: int
    level: int
    module: str
    names: tuple[str, ...] | None
