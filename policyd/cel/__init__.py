"""The CEL front end: compile source through a checked syntax tree to a planned program. Runs when
policies load.

    from policyd.cel import Environment
    Environment.kubernetes().compile("object.a + 1").evaluate({"object": {"a": 2}})  # 3
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policyd.cel.env import Environment as Environment

__all__ = ["Environment"]


def __getattr__(name: str) -> object:
    # Lazily, because modules of the core import parts of this package.
    if name == "Environment":
        from policyd.cel.env import Environment

        return Environment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
