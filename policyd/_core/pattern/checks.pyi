from collections.abc import Iterable
from typing import final

class Check:
    expected: str

class Entry:
    key: str
    check: Check | None
    def __init__(self, key: str, check: Check | None) -> None: ...

@final
class IfPresent(Entry): ...

@final
class Absent(Entry): ...

@final
class SomeKey(Entry):
    def __init__(self, key: str, check: Check | None) -> None: ...

@final
class EachKey(Entry):
    def __init__(self, key: str, check: Check | None) -> None: ...

@final
class NoKey(Entry):
    def __init__(self, key: str, check: Check | None) -> None: ...

@final
class MapCheck(Check):
    def __init__(
        self, expected: str, conditions: Iterable[Entry], entries: Iterable[Entry]
    ) -> None: ...

class Pattern:
    root: Check
    guard: Check | None
    def __init__(self, root: Check, guard: Check | None) -> None: ...
    def check(self, value: object, *, within: str = "", deadline: int = 0) -> str | None: ...
    def holds(self, value: object, *, deadline: int = 0) -> bool: ...

@final
class AnyPattern(Pattern):
    patterns: tuple[Pattern, ...]
    def __init__(self, patterns: Iterable[Pattern]) -> None: ...
