from collections.abc import Iterable
from typing import final

from policyd._core.pattern.checks import PatternCheck

@final
class ListCheck(PatternCheck):
    def __init__(
        self,
        expected: str,
        each: Iterable[PatternCheck],
        any_of: Iterable[PatternCheck],
        some: bool,
    ) -> None: ...
    @property
    def each(self) -> tuple[PatternCheck, ...]: ...
    @property
    def any_of(self) -> tuple[PatternCheck, ...]: ...
    @property
    def some(self) -> bool: ...

@final
class EmptyList(PatternCheck): ...

@final
class ExistsCheck(PatternCheck):
    def __init__(self, expected: str, wanted: Iterable[PatternCheck]) -> None: ...
    @property
    def wanted(self) -> tuple[PatternCheck, ...]: ...
