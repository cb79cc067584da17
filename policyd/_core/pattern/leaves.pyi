from collections.abc import Iterable
from typing import final

from policyd._core.pattern.checks import PatternCheck
from policyd._core.pattern.strings import Amount, Wildcard

COMPARISONS: dict[str, int]

@final
class Anything(PatternCheck): ...

@final
class Something(PatternCheck): ...

@final
class Unset(PatternCheck): ...

class LeafCheck(PatternCheck): ...

@final
class BoolLeaf(LeafCheck):
    value: bool
    def __init__(self, value: bool) -> None: ...

@final
class NumberLeaf(LeafCheck):
    value: int | float
    amount: Amount | None
    def __init__(self, value: int | float) -> None: ...

@final
class StringLeaf(LeafCheck):
    literal: str
    terms: tuple[Term, ...]
    def __init__(self, literal: str, terms: Iterable[Term]) -> None: ...

class Term: ...

@final
class EqualTerm(Term):
    wildcard: Wildcard
    amount: Amount | None
    negative: bool
    def __init__(self, text: str, negative: bool) -> None: ...

@final
class CompareTerm(Term):
    amount: Amount
    operator: str
    def __init__(self, operator: str, amount: Amount) -> None: ...

@final
class RangeTerm(Term):
    low: Amount
    high: Amount
    outside: bool
    def __init__(self, low: Amount, high: Amount, outside: bool) -> None: ...

@final
class AllTerm(Term):
    terms: tuple[Term, ...]
    def __init__(self, terms: Iterable[Term]) -> None: ...
