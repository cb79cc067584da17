from collections.abc import Iterable
from typing import final

from policyd._core.pattern.checks import PatternCheck

@final
class ListCheck(PatternCheck):
    each: tuple[PatternCheck, ...]
    any_of: tuple[PatternCheck, ...]
    some: bool
    def __init__(
        self,
        expected: str,
        each: Iterable[PatternCheck],
        any_of: Iterable[PatternCheck],
        some: bool,
    ) -> None: ...

@final
class EmptyList(PatternCheck): ...

@final
class ExistsCheck(PatternCheck):
    wanted: tuple[PatternCheck, ...]
    def __init__(self, expected: str, wanted: Iterable[PatternCheck]) -> None: ...
