"""Keys that are the same objects as the JSON decoder's keys.

A dict finds a key that is the same object without comparing strings, which halves the time of a
lookup. The decoder caches keys; a key that is no longer cached is found by comparison.
"""

from functools import lru_cache

import orjson


@lru_cache(maxsize=2_048)  # as many as the decoder
def shared_key(name: str) -> str:
    """The name, as the object in the cache of the decoder. For names looked up in requests."""
    if not name.isascii():  # it may not be valid in JSON
        return name
    decoded: dict[str, None] = orjson.loads(orjson.dumps({name: None}))
    return next(iter(decoded))
