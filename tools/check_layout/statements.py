"""What an import statement says, before anybody knows which of its names are modules."""

from typing import NamedTuple


class Statement(NamedTuple):
    """``from ..module import names`` with the level 2; ``names`` is None for ``import module``."""

    line: int
    level: int
    module: str
    names: tuple[str, ...] | None
