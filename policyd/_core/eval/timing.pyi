from typing import Any

from policyd._core.eval.program import Program

def nanoseconds(
    programs: tuple[Program, ...], variables: dict[str, Any], rounds: int = ...
) -> float: ...
