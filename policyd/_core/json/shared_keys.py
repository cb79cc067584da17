"""The very objects that the decoder of requests uses for the keys of maps.

A map finds a key that is the same object without comparing texts, which makes half the time of a
lookup. The decoder keeps the keys that it met; one that it forgot is found as ever.
"""

import orjson


def shared_key(name: str) -> str:
    """The same name, if possible as that object. For names that are looked up in requests."""
    if not name.isascii():  # a text that is no key of any JSON among them
        return name
    decoded: dict[str, None] = orjson.loads(orjson.dumps({name: None}))
    return next(iter(decoded))
