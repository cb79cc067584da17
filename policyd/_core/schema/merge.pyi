from typing import final

from policyd._core.schema.types import SchemaType

def merge(live: object, patch: object, type: SchemaType) -> object: ...

@final
class Edit: ...

@final
class Edits: ...
