from typing import final

QUANTITY: str
DURATION: str

@final
class Wildcard:
    text: str
    def __init__(self, text: str) -> None: ...
    def matches(self, text: str) -> bool: ...

@final
class Amount:
    text: str
    timed: bool
    @property
    def is_quantity(self) -> bool: ...
    def order(self, value: object) -> int | None: ...

def amount_of(text: str) -> Amount | None: ...
