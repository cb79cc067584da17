from typing import Any

from policyd._core.schema.types import SchemaType

class MergeError(Exception): ...

def item_key(item: Any, type: SchemaType) -> Any: ...
