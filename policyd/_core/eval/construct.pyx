"""Creation of lists, maps and structs. An error in any part is the result of the whole."""

cimport cython

from policyd._core.eval.nodes cimport Node
from policyd._core.values.activation cimport Activation, charge, charge_ended
from policyd._core.values.elements cimport NO_ITEMS
from policyd._core.values.errors cimport CelError, error
from policyd._core.values.printing cimport printed
from policyd._core.eval.rereading cimport native_string, native_type
from policyd._core.values.types cimport MISSING, Optional, StructValue, map_key

#: from policyd._core.eval.nodes import Node

cdef enum:
    LIST_COST = 10
    MAP_COST = 30
    STRUCT_COST = 40

cdef frozenset OPERATION_FIELDS = frozenset(("op", "path", "from", "value"))
# The types that mutations create.
cdef frozenset PATCH_TYPES = frozenset(("Object", "JSONPatch"))


@cython.final
cdef class ListNode(Node):
    cdef tuple elements
    cdef frozenset optional  # indexes of the elements marked with ?

    def __init__(self, tuple elements not None, optional=frozenset()):
        #: (tuple[Node, ...], Iterable[int]) -> None
        self.elements = elements
        self.optional = frozenset(optional)

    cdef object eval(self, Activation act):
        cdef list made = []
        cdef Py_ssize_t i
        if not self.elements:
            charge(act, LIST_COST)
            return NO_ITEMS
        for i in range(len(self.elements)):
            value = (<Node>self.elements[i]).eval(act)
            if type(value) is CelError:
                charge_ended(act, LIST_COST)
                return value
            if self.optional and i in self.optional:
                if type(value) is not Optional:
                    charge_ended(act, LIST_COST)
                    return error("cannot initialize optional list element from non-optional value "
                                 + printed(value))
                value = (<Optional>value).held
                if value is MISSING:
                    continue
            made.append(value)
        charge(act, LIST_COST)
        return made


@cython.final
cdef class MapNode(Node):
    cdef tuple keys
    cdef tuple values
    cdef frozenset optional

    def __init__(self, tuple keys not None, tuple values not None, optional=frozenset()):
        #: (tuple[Node, ...], tuple[Node, ...], Iterable[int]) -> None
        self.keys = keys
        self.values = values
        self.optional = frozenset(optional)

    cdef object eval(self, Activation act):
        cdef dict made = {}
        value = None
        cdef Py_ssize_t i
        for i in range(len(self.keys)):
            key = (<Node>self.keys[i]).eval(act)
            if type(key) is not CelError:
                value = (<Node>self.values[i]).eval(act)
                key = _entry(made, key, value, self.optional and i in self.optional)
            if type(key) is CelError:
                charge_ended(act, MAP_COST)
                return key
        charge(act, MAP_COST)
        return made


cdef object _entry(dict made, object key, object value, bint optional):
    """Set one entry; returns an error or None."""
    if type(value) is CelError:
        return value
    if optional:
        if type(value) is not Optional:
            return _unwrap(key, value)
        value = (<Optional>value).held  # an error surfaces when it is read, as in cel-go
    if value is MISSING:
        made.pop(map_key(key), None)
    else:
        made[map_key(key)] = value
    return None


cdef object _unwrap(object name, object value):
    if type(value) is Optional:
        return (<Optional>value).held
    return error(f"cannot initialize optional entry '{printed(name)}' from non-optional value "
                 + printed(value))


@cython.final
cdef class StructNode(Node):
    cdef str type_name
    cdef tuple names
    cdef tuple values
    cdef frozenset optional
    cdef bint of_patch    # a type that mutations create
    cdef bint operation   # JSONPatch

    def __init__(self, str name not None, tuple names not None, tuple values not None,
                 optional=frozenset()):
        #: (str, tuple[str, ...], tuple[Node, ...], Iterable[int]) -> None
        self.type_name = name
        self.names = names
        self.values = values
        self.optional = frozenset(optional)
        self.of_patch = name in PATCH_TYPES or name.startswith("Object.")
        self.operation = name == "JSONPatch"

    cdef object eval(self, Activation act):
        cdef dict fields = {}
        cdef StructValue made
        cdef Py_ssize_t i
        for i in range(len(self.names)):
            value = (<Node>self.values[i]).eval(act)
            if self.optional and type(value) is not CelError and i in self.optional:
                value = _unwrap(self.names[i], value)
            if type(value) is CelError:
                charge_ended(act, STRUCT_COST)
                return value
            if value is MISSING:
                fields.pop(self.names[i], None)
            else:
                fields[self.names[i]] = value
        charge(act, STRUCT_COST)
        if self.operation:
            return _operation(fields)
        if self.of_patch:
            made = StructValue.__new__(StructValue)
            made.type_name, made.fields = self.type_name, fields
            return made
        from policyd._core.eval.messages import make  # it imports modules above nodes

        return make(self.type_name, fields)


cdef object _operation(dict fields):
    """A JSONPatch: all of its fields except the value are strings."""
    for name in fields:
        if name not in OPERATION_FIELDS:
            return error(f"unexpected JSONPatchType field: {name}")
    for name in ("op", "path", "from"):
        given = fields.get(name, "")
        if type(given) is str and given:
            continue
        text = native_string(given)
        if text is None:
            return error(f"unexpected type {native_type(given)} for JSONPatchType '{name}' field")
        if text:
            fields[name] = text
        else:
            fields.pop(name, None)  # an empty string counts as not set
    return StructValue("JSONPatch", fields)
