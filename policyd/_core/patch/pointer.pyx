"""JSON Pointer (RFC 6901): parses and prints pointers. Reads no document."""

from policyd.errors import PatchError


# Policies write to few places.
cdef dict known_pointers = {}
cdef Py_ssize_t MOST_POINTERS = 4096
cdef Py_ssize_t LONGEST_POINTER = 256

cdef tuple INDEXES = tuple([str(index) for index in range(64)])  # most lists are shorter


cdef str escape(str token):
    """The escaped token; the same object if it needs no escapes."""
    if "~" in token:
        token = token.replace("~", "~0")
    if "/" in token:
        token = token.replace("/", "~1")
    return token


cdef str index_string(Py_ssize_t index):
    return <str>INDEXES[index] if index < 64 else str(index)


cpdef str pointer_of(list path):
    #: (list[str | int]) -> str
    """The pointer of keys and indexes: ``["a", 0, "b/c"]`` is ``/a/0/b~1c``."""
    cdef tuple key = tuple(path)
    cdef str known = known_pointers.get(key)
    return made_pointer(key) if known is None else known


cdef str made_pointer(tuple path):
    cdef list parts = [""]
    cdef str pointer
    for token in path:
        parts.append(escape(<str>token) if type(token) is str else index_string(token))
    pointer = "/".join(parts)
    if len(pointer) <= LONGEST_POINTER:
        if len(known_pointers) >= MOST_POINTERS:
            known_pointers.clear()
        known_pointers[path] = pointer
    return pointer


cpdef tuple tokens_of(str pointer):
    #: (str) -> tuple[str, ...]
    """The unescaped reference tokens: ``/a/b~1c`` is ``("a", "b/c")``.

    Raises PatchError if the string is not a pointer.
    """
    cdef list tokens
    cdef Py_ssize_t i
    if not pointer:
        return ()
    if pointer[0] != "/":
        raise PatchError(f"{pointer!r} is no JSON pointer: it must be empty or start with '/'")
    tokens = pointer[1:].split("/")
    if "~" in pointer:
        for i in range(len(tokens)):
            tokens[i] = unescape(<str>tokens[i], pointer)
    return tuple(tokens)


cdef str unescape(str token, str pointer):
    # "~01" is "~1", so the slash is unescaped first.
    if "~" not in token:
        return token
    if token.count("~") != token.count("~0") + token.count("~1"):
        raise PatchError(f"{pointer!r} is no JSON pointer: '~' must be followed by 0 or 1")
    return token.replace("~1", "/").replace("~0", "~")


cdef Py_ssize_t index_of(str token) except -2:
    """The array index of a token (digits without leading zeros); -1 if it is not an index."""
    cdef Py_ssize_t index = 0
    cdef Py_UCS4 c
    # No list has an index of more than 18 digits.
    if not 0 < len(token) <= 18 or (token[0] == "0" and len(token) > 1):
        return -1
    for c in token:
        if not 48 <= c < 58:
            return -1
        index = 10 * index + <int>c - 48
    return index
