"""Field, key and element access. null and scalars have no fields: ``no such key``, has() is false.
"""

cimport cython
from cpython.object cimport PyObject

from policyd._core.system.c_stack cimport descend
from policyd._core.values.activation cimport charge
from policyd._core.values.errors cimport CelError, error, index_out_of_bounds, no_such_key
from policyd._core.values.equality cimport find
from policyd._core.values.elements cimport element, qualifier_of, refused
from policyd._core.eval.nodes cimport unset
from policyd._core.values.printing cimport string_of
from policyd._core.eval.rereading cimport reread_held
from policyd._core.values.types cimport (
    MISSING,
    NONE,
    KeyedMap,
    Optional,
    StructValue,
    UInt,
    go_name,
    some,
)

#: from policyd._core.eval.nodes import Node

cdef str JSON_PATCH = "JSONPatch"
# The values of unset fields of a JSONPatch.
cdef dict OPERATION_FIELDS = {"op": "", "path": "", "from": "", "value": None}


@cython.final
cdef class PathNode(Node):
    """``a.b.c``: a variable and fields by name. The most frequent node of policies."""
    #: fields: tuple[str, ...]
    def __init__(self, slot, str name not None, tuple fields not None, units=1):
        #: (int, str, tuple[str, ...], int) -> None
        self.slot = slot
        self.name = name
        self.fields = fields
        self.units = units

    cdef object eval(self, Activation act):
        cdef Py_ssize_t missing, size = len(self.fields)
        cdef PyObject* found = walk_maps(act, self.slot, self.fields, size, &missing)
        if found is NULL:
            return self.eval_slowly(act)
        charge(act, self.units + size)
        return <object>found

    cdef object eval_slowly(self, Activation act):
        """Evaluates the path step by step; for paths on which a value is missing or not a map."""
        cdef Py_ssize_t steps = 0
        value = act.slots[self.slot]
        if type(value) is Optional:
            return path_in_optional(act, value, self.fields, self.units)
        if value is MISSING:
            charge(act, self.units)
            return unset(self.name)
        value = walk(act, value, self.fields, len(self.fields), len(self.fields), False, &steps)
        charge(act, self.units + steps)
        return value


cdef object path_in_optional(Activation act, Optional base, tuple fields, int64_t units):
    """Reads the fields of a variable that holds an optional: none if a field is missing."""
    cdef Py_ssize_t steps = 0
    charge(act, units)
    value = base.held
    if act.rereads and value is not MISSING:
        value = reread_held(value)
    if value is MISSING:
        return NONE
    if type(value) is CelError:
        return value
    value = walk(act, value, fields, len(fields), 0, True, &steps)
    charge(act, steps)
    if type(value) is CelError:
        return value
    return NONE if value is MISSING else some(value)


@cython.boundscheck(False)  # 0 <= i < end <= len(fields)
@cython.wraparound(False)
cdef object walk(
    Activation act, object value, tuple fields, Py_ssize_t end, Py_ssize_t first, bint optional,
    Py_ssize_t* steps
):
    """The value of the first ``end`` fields, or the CelError at which the path ends, or MISSING if
    a field from number ``first`` on is missing. ``steps`` is set to the number of fields to charge.
    """
    cdef Py_ssize_t i
    for i in range(end):
        if type(value) is dict:
            value = (<dict>value).get(fields[i], MISSING)
            if value is not MISSING:
                continue
        elif type(value) is CelError:  # a part of the request that cannot be read
            steps[0] = i
            return value
        else:
            value = select(value, fields[i], optional)
            if value is not MISSING and type(value) is not CelError:
                continue
        steps[0] = i + (i < first or (act.since_1_38 and type(value) is CelError))
        return no_such_key(fields[i]) if value is MISSING and i < first else value
    steps[0] = end
    return value


@cython.final
cdef class HasPathNode(Node):
    """``has(a.b.c)``."""
    cdef readonly Py_ssize_t slot
    cdef str name
    cdef readonly tuple fields
    #: fields: tuple[str, ...]

    def __init__(self, slot, str name not None, tuple fields not None):
        #: (int, str, tuple[str, ...]) -> None
        self.slot = slot
        self.name = name
        self.fields = fields

    cdef object eval(self, Activation act):
        cdef Py_ssize_t missing, last = len(self.fields) - 1
        cdef PyObject* found = walk_maps(act, self.slot, self.fields, last, &missing)
        if found is NULL or not PyDict_CheckExact(found):
            return self.eval_slowly(act)
        charge(act, last + 1)
        found = PyDict_GetItemWithError(found, PyTuple_GET_ITEM(<PyObject*>self.fields, last))
        return found is not NULL

    cdef object eval_slowly(self, Activation act):
        cdef Py_ssize_t steps = 0, last = len(self.fields) - 1
        value = act.slots[self.slot]
        if value is MISSING:
            return unset(self.name)
        if type(value) is CelError:
            return value
        if type(value) is Optional:
            value = path_in_optional(act, value, self.fields, 0)
            return value if type(value) is CelError else (<Optional>value).held is not MISSING
        value = walk(act, value, self.fields, last, last, False, &steps)
        if type(value) is CelError:
            charge(act, steps)
            return value
        charge(act, last + 1)
        if type(value) is dict:
            return (<dict>value).get(self.fields[last], MISSING) is not MISSING
        value = select(value, self.fields[last], True)
        return value if type(value) is CelError else value is not MISSING


@cython.final
cdef class OptionalPathNode(Node):
    """``a.b.?c.d``: from field number ``first`` on, a missing field gives ``optional.none()``."""
    cdef Py_ssize_t slot
    cdef str name
    cdef tuple fields
    cdef Py_ssize_t first
    cdef int64_t units

    def __init__(self, slot, str name not None, tuple fields not None, first, units=1):
        #: (int, str, tuple[str, ...], int, int) -> None
        self.slot = slot
        self.name = name
        self.fields = fields
        self.first = first
        self.units = units

    cdef object resolve(self, Activation act):
        """The value, MISSING or a CelError, without the Optional around it."""
        cdef Py_ssize_t missing, size = len(self.fields)
        cdef PyObject* found = walk_maps(act, self.slot, self.fields, size, &missing)
        if found is NULL and missing < self.first:
            return self.resolve_slowly(act)
        charge(act, self.units + (size if found is not NULL else missing))
        return MISSING if found is NULL else <object>found

    cdef object resolve_slowly(self, Activation act):
        cdef Py_ssize_t steps = 0
        value = act.slots[self.slot]
        if value is MISSING or type(value) is CelError:
            charge(act, self.units)
            return unset(self.name) if value is MISSING else value
        if type(value) is Optional:
            charge(act, self.units)
            value = path_in_optional(act, value, self.fields, 0)
            return value if type(value) is CelError else (<Optional>value).held
        value = walk(act, value, self.fields, len(self.fields), self.first, True, &steps)
        charge(act, self.units + steps)
        return value

    cdef object eval(self, Activation act):
        value = self.resolve(act)
        if type(value) is CelError:
            return value
        return NONE if value is MISSING else some(value)


@cython.final
cdef class OptionalPathOrNode(Node):
    """``a.?b.orValue(c)``, without creating the optional."""
    cdef OptionalPathNode path
    cdef Node otherwise

    def __init__(self, OptionalPathNode path not None, Node otherwise not None):
        #: (OptionalPathNode, Node) -> None
        self.path = path
        self.otherwise = otherwise

    cdef object eval(self, Activation act):
        value = self.path.resolve(act)
        return self.otherwise.eval(act) if value is MISSING else value


@cython.final
cdef class ChainStep:
    """One step of a Chain: a constant key, or a node that evaluates to the key."""
    #: node: Node | None

    def __init__(self, key=MISSING, Node node=None, optional=False, test=False, declared=False):
        #: (object, Node | None, bool, bool, bool) -> None
        self.key = key
        self.node = node
        self.optional = optional
        self.test = test
        self.declared = declared

    @property
    def is_name(self):
        #: () -> bool
        """Whether the key is a constant string, and not of an Object."""
        return self.node is None and type(self.key) is str and not self.declared


@cython.final
cdef class RawKey(Node):
    """A key read from a variable. The error for an invalid key names its Go type."""
    cdef Node node

    def __init__(self, Node node not None):
        #: (Node) -> None
        self.node = node

    cdef object eval(self, Activation act):
        key = self.node.eval(act)
        if type(key) is CelError or _is_key(key):
            return key
        return error(f"invalid qualifier type: {qualifier_of(act, key, True)}")


@cython.final
cdef class OwnKey(Node):
    """A list or map that is read from a variable and used as the key of a map.

    Kubernetes wraps the value anew at each read, so no two reads are the same key.
    """
    cdef Node node

    def __init__(self, Node node not None):
        #: (Node) -> None
        self.node = node

    cdef object eval(self, Activation act):
        key = self.node.eval(act)
        return key.copy() if type(key) is dict or type(key) is list else key


@cython.final
cdef class Chain(Node):
    """Any other chain of selects and indexes, from any base."""
    cdef Node base
    cdef tuple steps
    cdef int64_t units
    cdef bint refunds  # a unit that the base charged is not part of the cost

    def __init__(self, Node base not None, tuple steps not None, units=1, refunds=False):
        #: (Node, tuple[ChainStep, ...], int, bool) -> None
        self.base = base
        self.steps = steps
        self.units = units
        self.refunds = refunds

    cdef object eval(self, Activation act):
        if self.refunds:
            act.spent -= 1  # refund first: what is not part of the cost must not exceed the limit
        value = self._walk(act)
        charge(act, self.units)
        return value

    cdef object _walk(self, Activation act):
        cdef ChainStep step
        cdef bint optional = False, held = False
        value = self.base.eval(act)
        if type(value) is Optional:
            if (<Optional>value).held is MISSING:
                return False if self._tests() else value
            if not self.steps:
                return some(reread_held((<Optional>value).held)) if act.rereads else value
            value = (<Optional>value).held
            if act.rereads:
                value = reread_held(value)
            optional = True
        if type(value) is CelError:
            return value
        for step in self.steps:
            optional = optional or step.optional
            value = _take(act, step, value, optional, &held)
            if type(value) is CelError and not held:
                return value
            if value is MISSING:
                return False if self._tests() else NONE
            if step.test:
                return value
        return some(value) if optional else value

    cdef bint _tests(self):
        """Whether this is a has()."""
        return len(self.steps) > 0 and (<ChainStep>self.steps[-1]).test


cdef object _take(Activation act, ChainStep step, object value, bint optional, bint* held):
    """The value of one step, a CelError, or MISSING if the chain is optional; a bool for has().
    ``held``: the error is a value that makes the next step fail.
    """
    cdef bint failed = held[0]
    key = step.key
    if failed:
        held[0] = False
    if step.node is not None:
        key = step.node.eval(act)
        if type(key) is not CelError and not _is_key(key):
            key = error(f"invalid qualifier type: {qualifier_of(act, key, False)}")
        if type(key) is CelError:
            if not optional or act.since_1_38:
                charge(act, 1)
            return key
    if not optional:
        charge(act, 1)
    if step.declared and type(value) is StructValue:
        value = _declared_field(act, value, key, optional, step.test)
    elif failed:
        if optional and act.since_1_38:
            charge(act, 1)
        return value
    elif type(key) is str or act.typing is None:
        value = select(value, key, optional or step.test)
    else:
        problem = refused(act, value, key)
        held[0] = problem is not None and type(value) is list
        value = select(value, key, optional or step.test) if problem is None else problem
    if type(value) is CelError and not held[0]:
        if optional and act.since_1_38:
            charge(act, 1)
        return value
    if optional and value is not MISSING:
        charge(act, 1)
    return value is not MISSING if step.test else value


cdef inline bint _is_key(object key):
    kind = type(key)
    return kind is str or kind is int or kind is bool or kind is float or kind is UInt


cdef object select(object value, object key, bint test):
    """The value under key, a CelError, or (only if ``test``) MISSING."""
    if type(value) is dict:
        found = find(<dict>value, key)
    elif type(value) is list:
        found = element(<list>value, key)
        if found is MISSING and not test:
            return index_out_of_bounds(key)
    elif type(value) is StructValue and (<StructValue>value).type_name == JSON_PATCH:
        return _operation_field(value, key, test)
    elif type(value) is KeyedMap:
        found = (<KeyedMap>value).under(key)
    else:
        found = MISSING
    if found is MISSING and not test:
        return no_such_key(key)
    return found


cdef object _declared_field(
    Activation act, StructValue value, str name, bint optional, bint test
):
    """A field of an Object: null if it is not set; an optional selection finds it since 1.38."""
    if optional and not act.since_1_38:
        return MISSING
    if any([_nameless(held) for held in value.fields.values()]):
        # As for any field.
        return MISSING if test or optional else error(f'cannot get field "{name}"')
    found = value.fields.get(name, MISSING if test or optional else None)
    return found if test or found is MISSING else reread_held(_as_map(found))


cdef object _as_map(object value):
    """An Object as a plain map, as cel-go returns it when it is read."""
    if type(value) is StructValue and (<StructValue>value).type_name != JSON_PATCH:
        descend()
        return {name: _as_map(item) for name, item in (<StructValue>value).fields.items()}
    return value


cdef bint _nameless(object value) except -1:
    """Whether this is a map with a non-string key, which makes the whole Object invalid JSON."""
    if type(value) is Optional:
        value = (<Optional>value).held
    return type(value) is dict and any([type(key) is not str for key in <dict>value])


cdef object _operation_field(StructValue operation, object name, bint test):
    """A field of a JSONPatch. Each field has a value, but has() is true only for those that were
    set.
    """
    if name not in OPERATION_FIELDS:
        text = name if type(name) is str else f"%!s({go_name(name)}={string_of(name)})"
        return error(f"unsupported {'field' if test else 'indexer'}: {text}")
    empty = OPERATION_FIELDS[name]
    found = operation.fields.get(name, MISSING)
    if test:
        return MISSING if found is MISSING or (empty is not None and not found) else found
    return empty if found is MISSING else found
