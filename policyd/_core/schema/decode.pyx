"""Converts a changed object as Go does when it decodes and prints it.

    decode(new, old, root)    # the tree as Go prints it; raises DecodeError

The API server does this after every mutation of a kind with a Go type: ``null`` becomes an empty
value, empty values that Go omits disappear, quantities become canonical, unknown fields and wrong
types are errors. Subtrees that ``new`` shares with ``old`` are skipped, so the cost grows with the
size of the change.
"""

cimport cython
from cpython.object cimport PyObject

from base64 import b64encode

from policyd._core.json.equality cimport PyDict_Next, counterpart
from policyd._core.system.c_stack cimport descend
from policyd._core.schema.types cimport (
    ANYTHING, FLOAT, GO_BOOL, GO_STRING, INT32, INT64, LEAF, LIST, MAP, STRUCT, Decoding, Field,
    SchemaType, kind_of,
)

# Lists up to this length are searched item by item, longer ones by the ids of their items.
cdef Py_ssize_t FEW = 16
# Go's decoder reports no more unknown fields.
cdef Py_ssize_t MOST_UNKNOWN = 100
cdef object ABSENT = object()
cdef object LOW32 = -(2**31)
cdef object HIGH32 = 2**31
cdef object LOW64 = -(2**63)
cdef object HIGH64 = 2**63
cdef frozenset NUMBERS = frozenset(("int32", "int64", "float64", "uint8"))


class DecodeError(Exception):
    """The object cannot be decoded. The message is Go's."""


class Base64Error(ValueError):
    """A string is not base64. Unlike after other errors of leaves, Go continues."""


def decode(new, old, Field root not None, *, convert=False, kept=None, given=None, sent=False):
    #: (object, object, Field, bool, object, object, bool) -> object
    """``convert``: decode as after a merge, where whole floats are integers and messages differ.
    ``kept`` is the tree before the change if that is not ``old``; ``given`` has the values in the
    patch, which may be parts of that tree. ``sent``: no mutation printed the tree, so 10.0 is not
    an integer, and bytes may be a list of numbers.
    """
    cdef set given_maps = set()
    cdef Decoder decoder = new_decoder(convert, False)
    decoder.as_sent = sent
    out = decoder.value(new, old, root)
    if not decoder.failed():
        return out
    # Decode again, now tracking the path, and with the fields that only the API server knows.
    decoder = new_decoder(convert, True)
    decoder.as_sent = sent
    decoder.sent = set()
    note_unknown(old, root.type, decoder.sent)
    if not convert and not sent:
        # Decode in the order of the document, because only the first error is reported.
        decoder.written = set()
        note_maps(old if kept is None else kept, decoder.written)
        note_maps(given, given_maps)
        decoder.written -= given_maps
    out = decoder.value(new, old, root)
    if not decoder.failed():
        return out
    if decoder.failure is not None:
        raise DecodeError(decoder.failure)
    listed = ", ".join([f'unknown field "{path}"' for path in decoder.unknown[:MOST_UNKNOWN]])
    raise DecodeError(f"strict decoding error: {listed}")


cdef object decoded_or_none(object new, object old, Field root, bint convert):
    """The object as Go prints it, or None if it cannot be decoded. ``convert``: as after a merge.
    """
    cdef Decoder decoder = new_decoder(convert, False)
    out = decoder.value(new, old, root)
    return None if decoder.failed() else out


cdef Decoder new_decoder(bint convert, bint noting):
    """``convert``: decode as after a merge. ``noting``: track the path for the messages."""
    cdef Decoder decoder = Decoder.__new__(Decoder)
    decoder.convert = convert
    decoder.noting = noting
    decoder.path = []
    decoder.places = []
    decoder.struct = ""
    return decoder


cdef int note_maps(object value, set noted) except -1:
    """Add the ids of all maps in a tree."""
    cdef object kind = kind_of(value)
    if kind is dict or kind is list:
        descend()
    if kind is dict:
        noted.add(id(value))
        for member in (<dict>value).values():
            note_maps(member, noted)
    elif kind is list:
        for member in <list>value:
            note_maps(member, noted)
    return 0


cdef int note_unknown(object value, SchemaType type, set noted) except -1:
    """Add the fields that structs have but their types lack, as (type, name). An API server that is
    newer than the schemas knows them.
    """
    cdef object kind = kind_of(value)
    cdef Field field
    if kind is dict or kind is list:
        descend()
    if kind is list and type.decoding == LIST:
        for member in <list>value:
            note_unknown(member, type.item.type, noted)
    elif kind is dict and (type.decoding == STRUCT or type.decoding == MAP):
        for name, member in (<dict>value).items():
            field = type.extra if type.decoding == MAP else type.fields.get(name)
            if field is not None:
                note_unknown(member, field.type, noted)
            else:
                noted.add((type, name))
    return 0


@cython.final
cdef class Decoder:
    """The state of one decoding."""

    cdef bint failed(self):
        return self.failure is not None or self.unknown is not None

    cdef object value(self, object new, object old, Field field):
        """The value as Go prints it. The parts that it shares with ``old`` are already decoded."""
        cdef SchemaType type = field.type
        cdef Decoding decoding = type.decoding
        cdef object kind
        if new is old or decoding == ANYTHING:
            return new
        if new is None:
            return empty(type)
        kind = kind_of(new)
        if kind is dict or kind is list:
            descend()
        if decoding == STRUCT or decoding == MAP:
            if kind is dict:
                return self.members(<dict>new, old, type)
        elif decoding == LIST:
            if kind is list:
                return self.items(<list>new, old, type)
        elif decoding == GO_STRING:
            if kind is str:
                return new
        elif decoding == GO_BOOL:
            if kind is bool:
                return new
        elif decoding == LEAF:
            return self.leaf(new, field)
        elif kind is int or kind is float:
            return self.number(new, field)
        return self.fail(new, field)

    cdef dict ordered(self, dict members):
        """The members in the order of the patched document: written maps are sorted by name."""
        if self.written is None or id(members) in self.written:
            return members
        return dict(sorted(members.items()))

    cdef object members(self, dict new, object old, SchemaType type):
        """The members of a struct, or the entries of a map."""
        cdef dict before = <dict>old if kind_of(old) is dict else {}
        cdef dict out = new
        cdef Py_ssize_t at = 0, place = 0
        cdef PyObject* key
        cdef PyObject* value
        cdef PyObject* former
        new = out = self.ordered(new)
        while PyDict_Next(<PyObject*>new, &at, &key, &value):
            former = counterpart(<PyObject*>before, key, &place)
            if former == value:
                continue
            name, member = <object>key, <object>value
            was = ABSENT if former is NULL else <object>former
            if self.noting:
                self.path.append(name)
            if type.decoding == MAP:
                after = self.value(member, was, type.extra)
            else:
                after = self.member(name, member, was, type)
            if self.noting:
                self.path.pop()
            out = with_member(out, new, name, member, after)
        return out

    cdef object member(self, str name, object member, object was, SchemaType type):
        """A member of a struct as Go prints it; ABSENT if it does not."""
        cdef Field field = type.fields.get(name)
        cdef str outer = self.struct
        if field is None:
            if self.sent is not None and (type, name) in self.sent:
                return member
            if self.unknown is None:
                self.unknown = []
            self.unknown.append(path_string(self.path))
            return member
        if self.noting:
            self.struct = type.name
            self.places.append(field.via + name if field.via else name)
        after = self.value(member, was, field)
        if self.noting:
            self.places.pop()
            self.struct = outer
        if member is None and field.pointer:
            return ABSENT if field.omitted else None
        return ABSENT if is_omitted(after, field) else after

    cdef object items(self, list new, object old, SchemaType type):
        cdef list before = <list>old if kind_of(old) is list else []
        cdef list out = new
        cdef set known = None
        cdef Py_ssize_t index, size = len(before)
        for index in range(len(new)):
            member = new[index]
            was = before[index] if index < size else ABSENT
            if member is not None:
                if was is member:
                    continue
                if size <= FEW:
                    if holds(before, member):
                        continue
                else:
                    if known is None:
                        known = {id(item) for item in before}
                    if id(member) in known:
                        continue
            if self.noting:
                self.path.append(index)
            after = self.value(member, was, type.item)
            if self.noting:
                self.path.pop()
            if after is not member:
                if out is new:
                    out = list(new)
                out[index] = after
        return out

    cdef object leaf(self, object new, Field field):
        if self.over:
            return new
        if self.as_sent and kind_of(new) is list and field.go == "[]uint8":
            return self.octets(new, field)
        try:
            return field.type.leaf(new)
        except Base64Error as error:
            if self.failure is None:
                self.failure = f"error decoding from json: {error}" if self.convert else str(error)
        except ValueError as error:
            self.end()
            self.failure = str(error) if self.failure is None else self.failure
        except TypeError as error:
            if error.args:
                self.end()
            self.fail(new, field, error.args[0] if error.args else None)
        return new

    cdef object octets(self, list new, Field field):
        for each in new:
            if kind_of(each) is not int or not 0 <= each < 256:
                return self.fail(each, field, "uint8")
        return b64encode(bytes(new)).decode() if new else None

    cdef int end(self) except -1:
        """Ignore everything from here on; in a document, also earlier failures."""
        self.over = True
        if not self.convert:
            self.failure = None
        return 0

    cdef object number(self, object new, Field field):
        cdef Decoding decoding = field.type.decoding
        if decoding == FLOAT:
            return new
        if kind_of(new) is float:
            if self.as_sent or not new.is_integer():
                if self.convert and self.failure is None:
                    self.failure = f"cannot convert float64 to {field.go}"
                return self.fail(new, field)
            new = int(new)
        low, high = (LOW32, HIGH32) if decoding == INT32 else (LOW64, HIGH64)
        if low <= new < high:
            return new
        if self.convert and self.failure is None:
            # The API server keeps the low bits and stores a wrong number. policyd never does.
            self.failure = f"{new} does not fit into {field.go} at {path_string(self.path)}"
        return self.fail(new, field)

    cdef object fail(self, object new, Field field, str go=None):
        """``go`` is the type that a leaf tried to decode, unless that is the field's type."""
        if self.failure is None:
            go = go or field.go
            place = f"Go struct field {self.struct}.{'.'.join(self.places)} of type {go}" \
                if self.struct and not self.convert else f"Go value of type {go}"
            self.failure = f"json: cannot unmarshal {found_value(new, go)} into {place}"
        return new


cdef bint holds(list items, object item):
    """Whether this same object is in the list."""
    for each in items:
        if each is item:
            return True
    return False


cdef object empty(SchemaType type):
    """The value of Go for null."""
    cdef Decoding decoding = type.decoding
    if decoding == STRUCT:
        return {}
    if decoding == GO_STRING:
        return ""
    if decoding == GO_BOOL:
        return False
    if decoding == INT32 or decoding == INT64 or decoding == FLOAT:
        return 0
    return type.leaf(None) if decoding == LEAF else None


cdef dict with_member(dict out, dict new, object name, object member, object after):
    """``out`` with the decoded member; copies ``out`` first if it is still the map ``new``."""
    if after is member:
        return out
    if out is new:
        out = dict(new)
    if after is ABSENT:
        del out[name]
    else:
        out[name] = after
    return out


cdef bint is_omitted(object value, Field field):
    """Whether Go does not print the value of a field of a struct."""
    return field.omitted and not field.pointer and is_empty(value, field)


cdef bint is_empty(object value, Field field):
    """Whether Go's omitempty (or omitzero) omits the value."""
    if field.type.decoding == STRUCT:
        return field.omitted_zero and not value
    if field.type.decoding == LEAF:
        return value is None
    return not value


cdef str path_string(list path):
    text = "".join([f"[{step}]" if kind_of(step) is int else f".{step}" for step in path])
    return text.removeprefix(".")


cdef str found_value(object value, str go):
    """The JSON value as ``json.UnmarshalTypeError`` prints it."""
    cdef object kind = kind_of(value)
    if kind is bool:
        return "bool"
    if kind is int or kind is float:
        # A number is printed only if a number was expected.
        return f"number {value!r}" if go in NUMBERS else "number"
    return "string" if kind is str else "array" if kind is list else "object"
