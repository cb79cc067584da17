from collections.abc import Iterable
from typing import final

from policyd._core.pattern.strings import Wildcard

class PatternCheck:
    expected: str

class PatternEntry:
    key: str
    check: PatternCheck | None
    def __init__(self, key: str, check: PatternCheck | None) -> None: ...

@final
class IfPresent(PatternEntry): ...

@final
class Absent(PatternEntry): ...

@final
class SomeKey(PatternEntry):
    wildcard: Wildcard
    def __init__(self, key: str, check: PatternCheck | None) -> None: ...

@final
class EachKey(PatternEntry):
    wildcard: Wildcard
    def __init__(self, key: str, check: PatternCheck | None) -> None: ...

@final
class NoKey(PatternEntry):
    wildcard: Wildcard
    def __init__(self, key: str, check: PatternCheck | None) -> None: ...

@final
class MapCheck(PatternCheck):
    conditions: tuple[PatternEntry, ...]
    entries: tuple[PatternEntry, ...]
    def __init__(
        self, expected: str, conditions: Iterable[PatternEntry], entries: Iterable[PatternEntry]
    ) -> None: ...

class Pattern:
    root: PatternCheck
    guard: PatternCheck | None
    def __init__(self, root: PatternCheck, guard: PatternCheck | None) -> None: ...
    def check(self, value: object, *, within: str = "", deadline: int = 0) -> str | None: ...
    def holds(self, value: object, *, deadline: int = 0) -> bool: ...

@final
class AnyPattern(Pattern):
    patterns: tuple[Pattern, ...]
    def __init__(self, patterns: Iterable[Pattern]) -> None: ...
