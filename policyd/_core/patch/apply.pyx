"""Applies a JSON Patch (RFC 6902) without changing its input.

``json_patch.pyx`` applies the patches of policies, with the API server's deviations from the RFC.
``diff`` (``diff.pyx``) can be imported from here too.
"""

cimport cython

from cpython.unicode cimport PyUnicode_FindChar, PyUnicode_Substring, PyUnicode_Tailmatch

from policyd._core.json.equality cimport same
from policyd._core.patch.pointer cimport index_of, tokens_of

from policyd._core.patch.diff import diff  # no-cython-lint: exported
from policyd.errors import PatchError

#: from policyd._core.patch.diff import diff as diff

cdef object ABSENT = object()

cdef enum:
    SLASH = 0x2F
    TILDE = 0x7E


def apply(operations, object obj):
    #: (Sequence[dict[str, Any]], Any) -> Any
    """Apply RFC 6902 operations to ``obj`` and return the result.

    Changes neither ``obj`` nor the operations: the result shares their values, except for copies of
    the containers on changed paths. Raises PatchError, which names the operation, if an operation
    cannot be applied or a ``test`` fails.
    """
    cdef PatchedDocument document = PatchedDocument(obj)
    if not isinstance(operations, (list, tuple)):
        raise PatchError(f"a patch is a list of operations, not {name_of(operations)}")
    for number, operation in enumerate(operations):
        if type(operation) is not dict:
            raise PatchError(f"operation {number} is not an object but {name_of(operation)}")
        try:
            document.perform(operation)
        except PatchError as error:
            what = " ".join(str(operation.get(key, "?")) for key in ("op", "path"))
            raise PatchError(f"operation {number} ({what}): {error}") from None
    return document.root


cdef str place_of(str pointer):
    """The pointer without its last token, with the slash before it."""
    return pointer[:pointer.rfind("/") + 1]


cdef str name_of(object value):
    """The JSON type of a value, with its article."""
    if value is None:
        return "null"
    return {
        dict: "an object", list: "a list", str: "a string", bool: "a boolean",
        int: "a number", float: "a number",
    }.get(type(value), type(value).__name__)


cdef object member(dict operation, str name):
    cdef object found = operation.get(name, ABSENT)
    if found is ABSENT:
        raise PatchError(f"it has no {name!r}")
    return found


cdef tuple location(dict operation, str name):
    cdef object found = member(operation, name)
    if type(found) is not str:
        raise PatchError(f"{name!r} must be a string, not {name_of(found)}")
    return tokens_of(<str>found)


cdef object child(object container, str token):
    """The value at a reference token; PatchError if there is none."""
    if type(container) is dict:
        found = (<dict>container).get(token, ABSENT)
        if found is ABSENT:
            raise PatchError(f"there is no key {token!r}")
        return found
    if type(container) is list:
        return (<list>container)[position(<list>container, token, 0)]
    raise PatchError(f"{token!r} leads into {name_of(container)}")


cdef Py_ssize_t position(list items, str token, Py_ssize_t beyond) except -1:
    """The index of a token; ``beyond`` is the number of places allowed after the last item."""
    cdef Py_ssize_t index = len(items) if beyond and token == "-" else index_of(token)
    if index < 0:
        raise PatchError(f"{token!r} is no index of a list")
    if index >= len(items) + beyond:
        raise PatchError(f"index {index} is outside a list of {len(items)}")
    return index


@cython.final
cdef class PatchedDocument:
    """A tree that changes by copying: writes go only to copied containers.

    ``own`` has these by id, and keeps them alive so that no id is reused.
    """
    cdef object root
    cdef dict own
    cdef list chain     # the containers above the last written value, from the root on
    cdef tuple tokens   # its path
    cdef object latest  # the last container that was written to
    cdef dict beside    # the map to which the last operation added a key, and its pointer
    cdef str place

    def __init__(self, object root):
        #: (Any) -> None
        self.root = root
        self.own = {}
        self.chain = []

    cdef object owned(self, object container):
        """The container if it is already a copy, else a copy that may be changed."""
        if id(container) in self.own:
            return container
        if type(container) is dict:
            container = (<dict>container).copy()
        elif type(container) is list:
            container = (<list>container)[:]
        else:
            return container
        self.own[id(container)] = container
        return container

    cdef object find(self, tuple tokens):
        cdef object found = self.root
        cdef str token
        for token in tokens:
            found = child(found, token)
        return found

    cdef object parent(self, tuple tokens):
        """The container of the last token, as a copy that may be changed."""
        cdef Py_ssize_t at = 0, last = len(tokens) - 1
        cdef object container
        cdef str token
        if not self.chain:
            self.root = self.owned(self.root)
            self.chain.append(self.root)
        while at < last and at < len(self.chain) - 1 and (
            <str>tokens[at] == <str>self.tokens[at]
        ):
            at += 1
        del self.chain[at + 1:]
        self.tokens = tokens
        container = self.chain[at]
        for at in range(at, last):
            token = tokens[at]
            found = child(container, token)
            below = self.owned(found)
            if below is not found:
                if type(container) is dict:
                    (<dict>container)[token] = below
                else:
                    (<list>container)[index_of(token)] = below
            container = below
            self.chain.append(below)
        self.latest = container
        return container

    cdef bint added_beside(self, dict operation) except -1:
        """Add to the same map as the previous operation; False if it is another map."""
        cdef object path = operation.get("path"), value
        cdef Py_ssize_t start, end
        if self.beside is None or type(path) is not str:
            return False
        start, end = len(self.place), len(<str>path)
        if (
            PyUnicode_Tailmatch(path, self.place, 0, end, -1) != 1
            or PyUnicode_FindChar(path, SLASH, start, end, 1) >= 0
            or PyUnicode_FindChar(path, TILDE, start, end, 1) >= 0
        ):
            return False
        value = operation.get("value", ABSENT)
        if value is ABSENT:
            return False
        self.beside[PyUnicode_Substring(path, start, end)] = value
        return True

    cdef int add(self, tuple tokens, object value) except -1:
        if not tokens:
            self.root, self.chain = value, []
            return 0
        container = self.parent(tokens)
        last = tokens[len(tokens) - 1]
        if type(container) is dict:
            (<dict>container)[last] = value
        elif type(container) is list:
            (<list>container).insert(position(<list>container, last, 1), value)
        else:
            raise PatchError(f"{last!r} leads into {name_of(container)}")
        return 0

    cdef int replace(self, tuple tokens, object value) except -1:
        if not tokens:
            self.root, self.chain = value, []
            return 0
        container = self.parent(tokens)
        last = tokens[len(tokens) - 1]
        child(container, last)
        if type(container) is dict:
            (<dict>container)[last] = value
        else:
            (<list>container)[index_of(last)] = value
        return 0

    cdef object remove(self, tuple tokens):
        """Remove a value and return it."""
        if not tokens:
            raise PatchError("the whole document cannot be removed")
        container = self.parent(tokens)
        last = tokens[len(tokens) - 1]
        removed = child(container, last)
        if type(container) is dict:
            del (<dict>container)[last]
        else:
            del (<list>container)[index_of(last)]
        return removed

    cdef int perform(self, dict operation) except -1:
        cdef object op = member(operation, "op")
        cdef tuple path, source
        if op == "add" and self.added_beside(operation):
            return 0
        self.beside = None
        path = location(operation, "path")
        if op == "add":
            self.add(path, member(operation, "value"))
            if path and type(self.latest) is dict:
                self.beside = self.latest
                self.place = place_of(<str>operation["path"])
        elif op == "replace":
            self.replace(path, member(operation, "value"))
        elif op == "remove":
            self.remove(path)
        elif op == "test":
            if not same(self.find(path), member(operation, "value"), False, 0):
                raise PatchError("the value there is another one")
        elif op == "move":
            source = location(operation, "from")
            if path[:len(source)] == source:
                if len(path) > len(source):
                    raise PatchError("a value cannot be moved into itself")
                self.find(source)
            else:
                self.add(path, self.remove(source))
        elif op == "copy":
            value = self.find(location(operation, "from"))
            # The value is now in two places: copy its containers again before a write.
            self.own, self.chain = {}, []
            self.add(path, value)
        else:
            raise PatchError(f"{op!r} is no operation of JSON Patch")
        return 0
