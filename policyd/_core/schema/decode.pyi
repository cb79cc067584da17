from typing import final

from policyd._core.schema.types import Field

class DecodeError(Exception): ...
class Base64Error(ValueError): ...

def decode(
    new: object,
    old: object,
    root: Field,
    *,
    convert: bool = False,
    kept: object = None,
    given: object = None,
    sent: bool = False,
) -> object: ...

@final
class Decoder: ...
