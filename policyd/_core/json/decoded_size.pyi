def decoded_bytes(body: bytes, limit: int) -> int:
    """The maximum memory in bytes that ``body`` takes while it is decoded.

    Characters inside strings are counted too, unless the result then exceeds ``limit``.
    """
