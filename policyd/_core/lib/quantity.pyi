from policyd._core.eval.functions import Library
from policyd._core.values.types import Opaque

LIBRARY: Library

class Quantity(Opaque): ...

def canonical_quantity(text: str) -> str: ...
