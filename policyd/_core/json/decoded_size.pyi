def decoded_bytes(body: bytes, limit: int) -> int:
    """How much memory ``body`` takes while it is decoded, at most; more exactly if over ``limit``.

    What stands inside strings counts as well unless that brings it over the limit.
    """
