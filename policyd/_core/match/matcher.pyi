from collections.abc import Iterable
from types import GenericAlias
from typing import Generic, TypeVar, final

from policyd._core.match.match_resources import Hit as Hit
from policyd._core.match.match_resources import MatchInput as MatchInput
from policyd._core.match.match_resources import MatchRules as MatchRules
from policyd._core.match.match_resources import ResourceRule as ResourceRule
from policyd._core.match.match_resources import input_of as input_of

_Payload = TypeVar("_Payload")
_Key = tuple[str, str, str, str, str]

@final
class Candidate:
    def __init__(
        self, position: int, entry: MatchRules, rule: ResourceRule | None = None
    ) -> None: ...

def keys_of(rule: ResourceRule, loose: bool) -> dict[_Key, int]: ...

@final
class CandidateTable:
    def __init__(self, numbered: list[tuple[int, ResourceRule]], loose: bool) -> None: ...

@final
class Index(Generic[_Payload]):
    def __init__(self, entries: Iterable[tuple[MatchRules, _Payload]]) -> None: ...
    @classmethod
    def __class_getitem__(cls, payload: object) -> GenericAlias: ...
    def __len__(self) -> int: ...
    def match(self, request: MatchInput) -> list[tuple[_Payload, Hit]]: ...
