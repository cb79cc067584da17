from collections.abc import Iterable
from typing import final

from policyd._core.pattern.checks import Check
from policyd._core.pattern.strings import Amount

COMPARISONS: dict[str, int]

@final
class Anything(Check): ...

@final
class Something(Check): ...

@final
class Unset(Check): ...

class Leaf(Check): ...

@final
class Flag(Leaf):
    value: bool
    def __init__(self, value: bool) -> None: ...

@final
class Number(Leaf):
    value: int | float
    def __init__(self, value: int | float) -> None: ...

@final
class Text(Leaf):
    literal: str
    def __init__(self, literal: str, terms: Iterable[Term]) -> None: ...

class Term: ...

@final
class Equal(Term):
    def __init__(self, text: str, negative: bool) -> None: ...

@final
class Compare(Term):
    def __init__(self, operator: str, amount: Amount) -> None: ...

@final
class Range(Term):
    def __init__(self, low: Amount, high: Amount, outside: bool) -> None: ...

@final
class All(Term):
    def __init__(self, terms: Iterable[Term]) -> None: ...
