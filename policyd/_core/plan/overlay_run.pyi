from collections.abc import Iterable
from typing import final

from policyd._core.eval.program import Program

class OverlayError(Exception): ...

@final
class OverlayRun: ...

@final
class OverlayExpression:
    def __init__(self, program: Program, number: int) -> None: ...
    @property
    def program(self) -> Program: ...

@final
class OverlayScope:
    def __init__(self, conditions: Iterable[tuple[tuple[str, ...], object]] = ()) -> None: ...

class OverlayChange: ...
