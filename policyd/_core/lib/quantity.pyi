from policyd._core.library import Library
from policyd._core.values import Opaque

LIBRARY: Library

class Quantity(Opaque): ...

def canonical_text(text: str) -> str: ...
