"""Which values that expressions read are Go structs, maps and lists.

Since Kubernetes 1.37 the API server reads objects and params of built-in kinds, ``request`` and
``namespaceObject`` from Go values (k8s.io/apiserver, cel/common/valuesschemalesstyped.go). Most
expressions see no difference: the fields are the same as in JSON. Only a few operations, such as
``==`` of two structs, depend on the form of a list or map. They walk the trees that the expressions
see once; then the identity of a list or map determines its form.
"""

cimport cython
from libc.stdint cimport uintptr_t

from policyd._core.json.equality cimport same as same_json
from policyd._core.lib.quantity cimport Quantity, order, parse
from policyd._core.schema.types cimport LIST, MAP, STRUCT, Field, SchemaType, kind_of
from policyd._core.system.c_stack cimport descend
from policyd._core.values.activation cimport Form, PLAIN, TYPED, work
from policyd._core.values.activation cimport STRUCT as GO_STRUCT

cdef enum:  # the slots of the roots
    OBJECT
    OLD_OBJECT
    REQUEST
    NAMESPACE_OBJECT
    PARAMS

cdef tuple REQUEST_KIND = ("admission.k8s.io", "v1", "AdmissionRequest")
cdef tuple NAMESPACE = ("", "v1", "Namespace")
cdef str QUANTITY = "resource.Quantity"
# Types that hold any JSON; Go compares their bytes.
cdef frozenset RAW = frozenset(("runtime.RawExtension", "v1.FieldsV1", "v1.JSON"))


cdef TypedValues typed_values(object types, tuple kind):
    """``types`` are the Go types of kinds; ``kind`` is the kind of the objects."""
    cdef TypedValues made = TypedValues.__new__(TypedValues)
    made.types, made.kind = types, kind
    return made


@cython.final
cdef class TypedValues(Typing):
    """The values of one request as a group of policies sees them."""

    cdef Form form(self, Activation act, object container) except *:
        cdef Field field
        cdef Py_ssize_t before = 0 if self.known is None else len(self.known)
        self.note_roots(act)
        work(act, 1 + 4 * (len(self.known) - before))
        field = self.known.get(<uintptr_t><void*>container)
        if field is None:
            return PLAIN
        return GO_STRUCT if field.type.decoding == STRUCT else TYPED

    cdef str go_type(self, object container):
        return (<Field>self.known[<uintptr_t><void*>container]).go

    cdef bint same(self, Activation act, dict left, dict right) except -1:
        cdef Field one = self.known[<uintptr_t><void*>left]
        cdef Field other = self.known[<uintptr_t><void*>right]
        # A place with its own map type has a copy of the type.
        return one.type.fields is other.type.fields and same_members(act, left, right, one.type)

    cdef int read_as(self, bint plain_object, bint plain_old) except -1:
        """Whether the next expressions read object and oldObject as JSON."""
        if self.plain_object != plain_object or self.plain_old != plain_old:
            self.plain_object, self.plain_old = plain_object, plain_old
            self.known = None
        return 0

    cdef int note_roots(self, Activation act) except -1:
        """Note the containers of all values that the expression sees, each once."""
        if self.known is None:
            self.known, self.found = {}, []
            self.note_objects(act)
        if self.roots is None:
            # These may be created later than the others, and differ between policies.
            self.note_root(act.slots[REQUEST], REQUEST_KIND)
            self.note_root(act.slots[NAMESPACE_OBJECT], NAMESPACE)
            self.note_root(act.slots[PARAMS], act.params_kind)
        return 0

    cdef int note_objects(self, Activation act) except -1:
        if self.roots is not None:
            for root, kind in self.roots:
                self.note_root(root, kind)
            return 0
        if not self.plain_object:
            self.note_root(act.slots[OBJECT], self.kind)
        if not self.plain_old:
            self.note_root(act.slots[OLD_OBJECT], self.kind)
        return 0

    cdef int note_root(self, object value, tuple kind) except -1:
        """Note the containers of a value, unless its kind is custom (None: no kind)."""
        cdef Field field
        if kind_of(value) is not dict or kind is None or <uintptr_t><void*>value in self.known:
            return 0
        field = self.types.go_type(kind)
        if field is not None:
            self.found.append(value)
            note(value, field, self.known)
        return 0


cdef int note(object value, Field field, dict known) except -1:
    """Add the containers in a value that have Go types."""
    cdef SchemaType type = field.type
    cdef Field member
    if kind_of(value) is dict:
        if type.decoding != STRUCT and type.decoding != MAP:
            return 0
        descend()
        known[<uintptr_t><void*>value] = field
        for name, item in (<dict>value).items():
            member = type.fields.get(name) if type.decoding == STRUCT else type.extra
            if member is not None and (kind_of(item) is dict or kind_of(item) is list):
                note(item, member, known)
    elif kind_of(value) is list and type.decoding == LIST:
        descend()
        known[<uintptr_t><void*>value] = field
        for item in <list>value:
            if kind_of(item) is dict or kind_of(item) is list:
                note(item, type.item, known)
    return 0


# Equality of Go's values (k8s.io/apimachinery pkg/api/equality).


cdef bint same_members(Activation act, dict left, dict right, SchemaType type) except -1:
    """Whether two structs or maps of one type are equal."""
    cdef Field field
    if len(left) != len(right):
        return False
    descend()
    for name, value in left.items():
        if name not in right:
            return False
        field = type.fields.get(name) if type.decoding == STRUCT else type.extra
        work(act, 2)
        if not same_value(act, value, right[name], field):
            return False
    return True


cdef bint same_value(Activation act, object left, object right, Field field) except -1:
    """Whether two values are equal in a field; None: its type is unknown."""
    cdef SchemaType type
    cdef Py_ssize_t at
    if left is right:
        return True
    if field is None:
        return same_json(left, right, True, 0)
    type = field.type
    if kind_of(left) is dict and kind_of(right) is dict and field.go not in RAW:
        if type.decoding == STRUCT or type.decoding == MAP:
            return same_members(act, left, right, type)
        return same_json(left, right, True, 0)
    if kind_of(left) is list and kind_of(right) is list and type.decoding == LIST:
        if len(<list>left) != len(<list>right):
            return False
        descend()
        for at in range(len(<list>left)):
            work(act, 1)
            if not same_value(act, (<list>left)[at], (<list>right)[at], type.item):
                return False
        return True
    if left is None or right is None:
        return not field.pointer and has_nil(type, field) and not left and not right
    if field.go in RAW:
        return same_json(left, right, True, 0) and same_order(left, right)
    if field.go == QUANTITY and kind_of(left) is str and kind_of(right) is str:
        return left == right or same_quantity(left, right)
    return same_json(left, right, True, 0)


cdef bint same_order(object left, object right) except -1:
    """Whether equal JSON values have their keys in the same order."""
    cdef Py_ssize_t at
    if kind_of(left) is dict:
        descend()
        for (name, value), (other_name, other) in zip((<dict>left).items(), (<dict>right).items()):
            if name != other_name or not same_order(value, other):
                return False
    elif kind_of(left) is list:
        descend()
        for at in range(len(<list>left)):
            if not same_order((<list>left)[at], (<list>right)[at]):
                return False
    return True


cdef bint has_nil(SchemaType type, Field field):
    """Whether Go's null of this type equals its empty value."""
    return type.decoding == LIST or type.decoding == MAP or field.go == "[]uint8"


cdef bint same_quantity(str left, str right) except -1:
    cdef object one = parse(left), other = parse(right)
    if kind_of(one) is not Quantity or kind_of(other) is not Quantity:
        return False
    return order(<Quantity>one, <Quantity>other) == 0
