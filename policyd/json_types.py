"""The types of JSON values in signatures."""

from typing import Any

JSON = Any  # a value as the JSON decoder made it: dict, list, str, int, float, bool or None
JSONObject = dict[str, Any]
# Where a field is: its names and indexes from the top of a document.
FieldPath = tuple[str | int, ...]
