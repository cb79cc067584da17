from collections.abc import Iterable
from typing import final

from policyd._core.pattern.checks import Check

@final
class ListCheck(Check):
    def __init__(
        self, expected: str, each: Iterable[Check], any_of: Iterable[Check], some: bool
    ) -> None: ...

@final
class EmptyList(Check): ...

@final
class Exists(Check):
    def __init__(self, expected: str, wanted: Iterable[Check]) -> None: ...
