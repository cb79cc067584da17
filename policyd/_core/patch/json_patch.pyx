"""JSON Patch as the API server applies it: by evanphx/json-patch v4.13, not by RFC 6902.

    apply([Operation("add", "/data/k", value="v")], document)

The differences from the RFC: ``replace`` adds a missing key, negative indexes count from the end,
``copy`` from a missing key and a missing ``value`` give null, a path without a leading slash loses
its first segment, a failing ``test`` drops the whole patch without an error. The document never
changes: writes copy the containers on their paths.
"""

cimport cython

from policyd.errors import MutationError

from policyd._core.patch.containers cimport (
    assign, delete, equal, insert, known_paths, member, segments, unknown_escape,
)
from policyd._core.json.sizes cimport value_bytes
from policyd._core.values.mutation_json cimport json_of
from policyd._core.values.types cimport StructValue

from policyd._core.json import sizes
from policyd._core.patch.containers import KeyProblem
from policyd._core.values.mutation_json import ConversionError

#: from policyd._core.values.read_trees import ReadTrees
#: ABSENT: Any
#: COPY_LIMIT: int

ABSENT = object()
cdef str MISSING = "missing value"
# The bytes of JSON that all copy operations of a patch may duplicate, because each can double the
# document: JSONPatchMaxCopyBytes in k8s.io/apiserver, pkg/server/config.go.
COPY_LIMIT = 3 * 2**20
cdef Py_ssize_t MAX_DEPTH = 1000  # levels of an object
cdef Py_ssize_t COUNTED = 2**26  # the error message needs no larger count


@cython.final
cdef class PatchOperation:
    """``source`` is the patch's ``from``; ``value`` is ABSENT if the operation has none."""
    def __init__(self, str op not None, str path not None, str source not None="", value=ABSENT):
        #: (str, str, str, Any) -> None
        self.op = op
        self.path = path
        self.source = source
        self.value = value


class JSONPatchError(MutationError):
    """An operation cannot be applied. The message is ``JSON Patch: `` and the library's."""


class _TestFailed(Exception):
    """A ``test`` operation did not hold."""


def operations_of(list items not None, ReadTrees sources=None):
    #: (list[Any], ReadTrees | None) -> tuple[list[PatchOperation], list[Any]]
    """Convert the list of JSONPatch{...} that an expression returned; return the operations and
    their values. Raises MutationError.
    """
    cdef list values = []
    return operations_in(items, sources, values), values


cdef list operations_in(list items, ReadTrees sources, list values):
    """The operations of a list of JSONPatch{...}; appends their values to ``values``, if given.
    Raises MutationError.
    """
    cdef Py_ssize_t limit = sizes.MAX_PATCH_BYTES, size = value_bytes(items, limit)
    cdef list operations = []
    cdef PatchOperation operation
    if size > limit:
        raise MutationError(f"JSON Patch: the expression makes {sizes.TOO_LARGE}")
    # All values are converted before the first is applied.
    for item in items:
        operation = operation_of(item, size, sources)
        operations.append(operation)
        if values is not None:
            values.append(operation.value)
    return operations


cdef PatchOperation operation_of(object item, Py_ssize_t size, ReadTrees sources):
    cdef PatchOperation made = PatchOperation.__new__(PatchOperation)
    cdef dict fields
    if type(item) is not StructValue:
        raise MutationError(
            "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"
        )
    fields = (<StructValue>item).fields
    value = fields.get("value", ABSENT)
    if value is not ABSENT and type(value) is not str:
        try:
            value = json_of(value, size, sources)
        except ConversionError as error:
            raise MutationError(str(error)) from None
    made.op, made.path = fields.get("op", ""), fields.get("path", "")
    made.source, made.value = fields.get("from", ""), value
    return made


cpdef object apply(list operations, object document):
    #: (list[PatchOperation], Any) -> Any
    """The patched document, or ``document`` itself if a test failed. Raises JSONPatchError."""
    cdef PatchTarget target = PatchTarget.__new__(PatchTarget)
    cdef PatchOperation operation
    target.root = document
    target.own = {}
    try:
        for operation in operations:
            perform(target, operation)
    except _TestFailed:
        return document
    return target.root


cdef int perform(PatchTarget target, PatchOperation operation) except -1:
    cdef str op = operation.op
    if op == "add":
        return add(target, operation)
    if op == "remove":
        return remove(target, operation)
    if op == "replace":
        return replace(target, operation)
    if op == "move":
        return move(target, operation)
    if op == "copy":
        return copy(target, operation)
    if op == "test":
        return test(target, operation)
    raise failure(f"Unexpected kind: {op}")


@cython.final
@cython.internal
cdef class PatchTarget:
    """The document during the patch, and the place found by ``find``."""
    cdef object root
    cdef dict own           # copied containers by id; kept alive so that no id is reused
    cdef Py_ssize_t copied
    cdef object container
    cdef str key
    cdef Py_ssize_t level   # depth of the value at the key; 1 for a member of the document

    cdef bint find(self, str path, bint write) except -1:
        """Set ``container`` and ``key`` for the last segment of the path; False if there is none.

        A write copies all containers on the way.
        """
        cdef tuple steps = segments(path)
        cdef Py_ssize_t last = len(steps) - 1
        cdef Py_ssize_t index
        cdef str step
        if last < 0:
            return False
        if write:
            self.root = self.owned(self.root)
        node = self.root
        for index in range(last):
            step = steps[index]
            try:
                below = member(node, step)
            except KeyProblem:
                return False
            if type(below) is not dict and type(below) is not list:
                return False
            if write and id(below) not in self.own:
                below = self.owned(below)
                assign(node, step, below)
            node = below
        self.container = node
        self.key = steps[last]
        self.level = last + 1
        return True

    cdef int accept(self, str name, object value) except -1:
        """Refuse a value that would make the document deeper than a request's limit."""
        if not is_within(value, MAX_DEPTH - self.level):
            raise failure(f"{name} operation makes an object of more than {MAX_DEPTH} levels")
        return 0

    cdef object owned(self, object node):
        if id(node) in self.own:
            return node
        copied = (<dict>node).copy() if type(node) is dict else (<list?>node)[:]
        self.own[id(copied)] = copied
        return copied

    cdef int share(self, object value) except -1:
        """Note that ``value`` is now in two places, so a write must copy it again."""
        self.own.clear()
        self.copied += value_bytes(value, COUNTED)
        if self.copied > COPY_LIMIT:
            raise failure(
                "Unable to complete the copy, the accumulated size increase of copy is "
                f"{self.copied}, exceeding the limit {COPY_LIMIT}"
            )
        return 0


cdef int add(PatchTarget target, PatchOperation operation) except -1:
    path = readable(operation.path, "add operation failed to decode path", False)
    if not target.find(path, True):
        raise failure(f'add operation does not apply: doc is missing path: "{path}": {MISSING}')
    value = given(operation)
    target.accept("add", value)
    try:
        return insert(target.container, target.key, value)
    except KeyProblem as problem:
        raise failure(f"error in add for path: '{path}': {problem}") from None


cdef int remove(PatchTarget target, PatchOperation operation) except -1:
    path = readable(operation.path, "remove operation failed to decode path", False)
    if not target.find(path, True):
        raise failure(f'remove operation does not apply: doc is missing path: "{path}": {MISSING}')
    try:
        return delete(target.container, target.key)
    except KeyProblem as problem:
        raise failure(f"error in remove for path: '{path}': {problem}") from None


cdef int replace(PatchTarget target, PatchOperation operation) except -1:
    path = readable(operation.path, "replace operation failed to decode path", True)
    if path == "":
        value = operation.value
        if value is None:
            value = {}
        if type(value) is not dict and type(value) is not list:
            raise failure("replace operation value must be object or array: %!w(<nil>)")
        target.level = 0
        target.accept("replace", value)
        target.root = value
        return 0
    if not target.find(path, True):
        raise failure(f"replace operation does not apply: doc is missing path: {path}: {MISSING}")
    try:
        member(target.container, target.key)
    except KeyProblem:
        raise failure(
            f"replace operation does not apply: doc is missing key: {path}: {MISSING}"
        ) from None
    value = given(operation)
    target.accept("replace", value)
    return assign(target.container, target.key, value)


cdef int move(PatchTarget target, PatchOperation operation) except -1:
    source = origin(operation, "move")
    if not target.find(source, True):
        raise failure(
            f"move operation does not apply: doc is missing from path: {source}: {MISSING}"
        )
    try:
        value = member(target.container, target.key)
        delete(target.container, target.key)
    except KeyProblem as problem:
        raise failure(f"error in move for path: '{target.key}': {problem}") from None
    path = readable(operation.path, "move operation failed to decode path", True)
    if not target.find(path, True):
        raise failure(
            f"move operation does not apply: doc is missing destination path: {path}: {MISSING}"
        )
    target.accept("move", value)
    try:
        return insert(target.container, target.key, value)
    except KeyProblem as problem:
        raise failure(f"error in move for path: '{path}': {problem}") from None


cdef int copy(PatchTarget target, PatchOperation operation) except -1:
    source = origin(operation, "copy")
    if not target.find(source, False):
        raise failure(
            f"copy operation does not apply: doc is missing from path: {source}: {MISSING}"
        )
    try:
        value = member(target.container, target.key)
    except KeyProblem as problem:
        raise failure(f"error in copy for from: '{source}': {problem}") from None
    path = readable(operation.path, "copy operation failed to decode path", False)
    target.share(value)
    if not target.find(path, True):
        raise failure(
            f"copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
        )
    target.accept("copy", value)
    try:
        return insert(target.container, target.key, value)
    except KeyProblem as problem:
        raise failure(f"error while adding value during copy: {problem}") from None


cdef int test(PatchTarget target, PatchOperation operation) except -1:
    path = readable(operation.path, "test operation failed to decode path", True)
    if path == "":
        value = target.root
    else:
        if not target.find(path, False):
            raise failure(f"test operation does not apply: is missing path: {path}: {MISSING}")
        try:
            value = member(target.container, target.key)
        except KeyProblem as problem:
            raise failure(f"error in test for path: '{path}': {problem}") from None
    if value is None or operation.value is ABSENT:
        # null in the document equals only a missing value, not null.
        if value is None and operation.value is ABSENT:
            return 0
        raise _TestFailed
    if not equal(value, operation.value):
        raise _TestFailed
    return 0


cdef bint is_within(object value, Py_ssize_t levels) except -1:
    """Whether a JSON value has at most this many levels."""
    cdef object kind = type(value)
    if kind is not dict and kind is not list:
        return True
    if levels <= 0:
        return False
    for item in (<dict>value).values() if kind is dict else <list>value:
        if not is_within(item, levels - 1):
            return False
    return True


cdef object given(PatchOperation operation):
    return None if operation.value is ABSENT else operation.value


cdef str readable(str path, str problem, bint own_words):
    """The path. Raises if Go quotes it with an escape that is not valid JSON."""
    unknown = "" if path in known_paths else unknown_escape(path)
    if unknown:
        reason = f"invalid character '{unknown}' in string escape code"
        raise failure(f"{problem}: {reason if own_words else MISSING}")
    return path


cdef str origin(PatchOperation operation, str name):
    if not operation.source:
        raise failure(
            f"{name} operation failed to decode from: operation, missing from field: {MISSING}"
        )
    return readable(operation.source, f"{name} operation failed to decode from", True)


cdef object failure(str message):
    return JSONPatchError(f"JSON Patch: {message}")
