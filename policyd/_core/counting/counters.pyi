from typing import TypedDict, type_check_only

ADMIT: int
DENY: int
WARN: int
AUDIT: int
ERROR: int
TIMEOUT: int
EXEMPT: int
WOULD_DENY: int
WOULD_MUTATE: int
DECISIONS: tuple[str, ...]

@type_check_only
class Snapshot(TypedDict):
    decisions: dict[str, int]
    seconds: float
    cost: int

class PolicyCounters:
    def __init__(self, name: str) -> None: ...
    def count(self, decision: int) -> None: ...
    def snapshot(self) -> Snapshot: ...
    @property
    def name(self) -> str: ...

class Histogram:
    def __init__(self, bounds_seconds: tuple[float, ...]) -> None: ...
    def observe(self, nanoseconds: int) -> None: ...
    def snapshot(self) -> tuple[list[tuple[float, int]], int, float]: ...
