from typing import final

@final
class Wildcard:
    text: str
    def __init__(self, text: str) -> None: ...
    def matches(self, text: str) -> bool: ...

@final
class Amount:
    text: str
    def order(self, value: object) -> int | None: ...

def amount_of(text: str) -> Amount | None: ...
