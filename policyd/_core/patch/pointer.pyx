"""JSON Pointer (RFC 6901): text to reference tokens and back. Looks at no document."""

from policyd.errors import PatchError


cdef str escape(str token):
    """``token`` as it stands in a pointer; the same object where nothing is to be escaped."""
    if "~" in token:
        token = token.replace("~", "~0")
    if "/" in token:
        token = token.replace("/", "~1")
    return token


cdef str pointer_of(list path):
    """The pointer of keys (str) and indexes (int)."""
    cdef list parts = [""]
    for token in path:
        parts.append(escape(<str>token) if type(token) is str else str(token))
    return "/".join(parts)


cdef tuple tokens_of(str pointer):
    """The unescaped reference tokens; PatchError for text that is no pointer."""
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
    # "~01" is "~1": so the slash first.
    if "~" not in token:
        return token
    if token.count("~") != token.count("~0") + token.count("~1"):
        raise PatchError(f"{pointer!r} is no JSON pointer: '~' must be followed by 0 or 1")
    return token.replace("~1", "/").replace("~0", "~")


cdef Py_ssize_t index_of(str token) except -2:
    """The array index that a token names (digits without leading zeros); -1 if it names none."""
    if not (token.isascii() and token.isdigit()) or (token[0] == "0" and len(token) > 1):
        return -1
    # No list is longer than what 18 digits can count.
    return int(token) if len(token) <= 18 else -1


def parse(str pointer not None):
    return tokens_of(pointer)


def join(path):
    return pointer_of(list(path))
