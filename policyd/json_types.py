"""Types of JSON values for signatures."""

from typing import Any

JSON = Any  # a decoded JSON value: dict, list, str, int, float, bool or None
JSONObject = dict[str, Any]
# Where a field is: its names and indexes from the top of a document.
FieldPath = tuple[str | int, ...]
