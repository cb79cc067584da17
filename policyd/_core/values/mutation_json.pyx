"""Converts the values of mutation expressions to JSON as Kubernetes does.

    json_value(value, sources)     # the value of one JSON Patch operation
    object_value(value, sources)   # Object{...} for a merge; values without JSON become Foreign

Both check that the type names inside ``Object{...}`` match the field names, and raise
ConversionError with Kubernetes' message. JSON trees are shared, never changed.

``sources`` are the trees that the expression could read (object, oldObject, params). Kubernetes
converts a map or list that an expression read, but not a map or list that it created inside
another, which has no native form. Since 1.37 it converts no Go values where it takes only JSON: as
the value of a JSON Patch, and inside a list or map that the expression created. Without
``sources``, everything is converted.
"""

cimport cython
from libc.math cimport isfinite

import base64

from policyd._core.go import printing as go_printing
from policyd._core.go.printing import Foreign, moment, plain, span, syntax
from policyd._core.go.strings cimport quote
from policyd._core.system.c_stack cimport descend
from policyd._core.values.activation cimport PLAIN
from policyd._core.values.elements cimport NO_ITEMS
from policyd._core.values.printing cimport key_type, quoted_key, string_of
from policyd._core.values.read_trees cimport go_value, unsuitable
from policyd._core.values.errors cimport CelError
from policyd._core.values.types cimport (
    MISSING, OPAQUE_GO_VALUES, Duration, MapKey, Opaque, Optional, StructValue, Timestamp,
    TypeValue, UInt, type_name,
)

#: from policyd._core.values.read_trees import ReadTrees

cdef enum:
    MOST_VALUES = 1_000_000  # of one mutation; the same bound as for `copy`
    CHARACTERS_A_VALUE = 32  # of a string that counts as several values
    LIGHT = 500_000  # bytes of JSON; bounds the number of values too
    MOST_PATHS = 512  # structs, and fields of each

cdef object EXACT = 2**53 - 1  # the largest integer that every JSON reader preserves
cdef str NO_JSON = "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
# Go's protobuf module prints a space or a no-break space here, at random per build.
cdef list EMPTY = go_printing.EMPTY
cdef str PROTO = "proto:\u00a0"


class ConversionError(Exception):
    """The value has no JSON form. The message is Kubernetes'."""


class _Unnamed(Exception):
    """A map inside Object{...} has a key that is not a string."""


cdef dict known_paths = {}  # of ``path_of``: by the struct, then by the field


def json_value(value, ReadTrees sources=None):
    #: (object, ReadTrees | None) -> Any
    return json_of(value, -1, sources)


cdef object json_of(object value, Py_ssize_t size, ReadTrees sources):
    """``json_value`` of a value whose size as JSON is known: ``size`` bytes (-1: unknown)."""
    cdef Converter converter
    if type(value) is str:
        return value
    if not 0 <= size <= LIGHT:
        weigh(value)
    if isinstance(value, StructValue):
        if (<StructValue>value).type_name == "JSONPatch":
            raise ConversionError(NO_JSON + "cannot convert to native type: *structpb.Value")
        converter = Converter(sources)
        try:
            return bounded(converter.root(value, (<StructValue>value).type_name))
        except _Unnamed as problem:
            raise ConversionError(f"{NO_JSON}{problem}") from None
    return to_json(value, sources)


def object_value(StructValue value not None, ReadTrees sources=None, Py_ssize_t size=-1):
    #: (StructValue, ReadTrees | None, int) -> dict[str, Any]
    """``size``: the size of the value as JSON in bytes, if it is known."""
    if not 0 <= size <= LIGHT:
        weigh(value)
    return inner_of(value, value.type_name, sources)


cdef dict inner_of(StructValue value, str expected, ReadTrees sources):
    """The same of an ``Object{...}`` in a field, whose type name must be ``expected``."""
    try:
        return Converter(sources).root(value, expected)
    except _Unnamed:
        raise ConversionError("invalid return type: *dynamic.ObjectVal") from None


cdef int weigh(object value) except -1:
    """Reject a value that is too large for a patch. Each occurrence of a part counts, because a
    list may contain the same object many times.
    """
    cdef Py_ssize_t left = MOST_VALUES
    cdef list waiting = [value]
    while waiting:
        node = waiting.pop()
        left -= 1
        if type(node) is Optional:
            node = (<Optional>node).held
        kind = type(node)
        if kind is str:
            left -= len(<str>node) // CHARACTERS_A_VALUE
        elif kind is list:
            waiting.extend(<list>node)
        elif kind is dict:
            waiting.extend((<dict>node).values())
        elif kind is StructValue:
            waiting.extend((<StructValue>node).fields.values())
        elif kind is Optional:
            waiting.append(node)
        if left < len(waiting):
            raise ConversionError(f"the value of a mutation has more than {MOST_VALUES} values")
    return 0


# JSON Patch values, converted through google.protobuf.Value.

cdef object to_json(object value, ReadTrees sources):
    cdef object kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int or kind is UInt:
        number = value if kind is int else (<UInt>value).value
        return number if -EXACT <= number <= EXACT else str(number)
    if kind is float:
        return json_number(value)
    if kind is list or kind is dict:
        if sources is not None and sources.form(value) != PLAIN:
            raise ConversionError(NO_JSON + unsuitable(value, sources))
        descend()
        return json_list(value, sources) if kind is list else json_dict(value, sources)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Timestamp or kind is Duration:
        return string_of(value)
    if kind is Optional:
        if (<Optional>value).held is MISSING:
            raise ConversionError(NO_JSON + "optional.none() dereference")
        descend()
        return to_json((<Optional>value).held, sources)
    if kind is StructValue:
        # Later API servers accept Object{...} in lists and maps; 1.36 panics.
        return json_value(value, sources)
    if kind is TypeValue:
        raise ConversionError(NO_JSON + "type conversion not supported for 'type'")
    if kind is CelError:
        raise ConversionError(NO_JSON + (<CelError>value).message)
    name = type_name(value).rpartition(".")[2]
    raise ConversionError(f"{NO_JSON}type conversion error from '{name}' to '*structpb.Value'")


cdef object json_number(double value):
    if not isfinite(value):
        shown = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        raise ConversionError(
            f"{NO_JSON}json: error calling MarshalJSON for type *structpb.Value: "
            f"{PROTO}google.protobuf.Value.number_value: invalid {shown} value"
        )
    # Whole numbers lose their fraction, and become integers again if they fit.
    if value == int(value) and -(2.0**63) <= value < 2.0**63:
        return int(value)
    return value


cdef list json_list(list value, ReadTrees sources):
    cdef list out = [] if value is NO_ITEMS else value
    cdef Py_ssize_t index
    for index in range(len(value)):
        item = to_json(value[index], sources)
        if item is not value[index]:
            if out is value:
                out = list(value)
            out[index] = item
    return out


cdef dict json_dict(dict value, ReadTrees sources):
    cdef dict out = value
    for key, item in value.items():
        if type(key) is not str:
            raise ConversionError(NO_JSON + key_problem(key))
        after = to_json(item, sources)
        if after is not item:
            if out is value:
                out = dict(value)
            out[key] = after
    return out


cdef str key_problem(object key):
    cdef object kind = type(key.value) if type(key) is MapKey else type(key)
    if kind is int or kind is UInt:
        name = "int" if kind is int else "uint"
        return f"unsupported type conversion from '{name}' to string"
    name = "bool" if kind is bool else "Double"
    return f"type conversion error from {name} to 'string'"


cdef object bounded(object value):
    """Object{...} as a JSON Patch value, as Go's structpb accepts it."""
    cdef object kind = type(value)
    if kind is dict or kind is list:
        descend()
    if kind is dict:
        return {name: bounded(item) for name, item in value.items()}
    if kind is list:
        return [bounded(item) for item in value]
    if kind is float:
        return json_number(value)
    if kind is int and not -EXACT <= value <= EXACT and int(float(value)) != value:
        # Kubernetes would silently round it to the nearest double.
        raise ConversionError(f"{NO_JSON}{value} is no exact JSON number; write it as a string")
    if kind is Foreign:
        if value.type == "uint64":
            return bounded(int(value.plain))
        if value.type == "[]uint8":
            return base64.b64encode(eval_octets(value.plain)).decode()
        raise ConversionError(f"{NO_JSON}{PROTO}invalid type: {value.type}")
    return value


cdef bytes eval_octets(str text):
    return bytes([int(octet) for octet in text[1:-1].split()])


# Object{...}: native Go values.

cdef str path_of(str struct, str name):
    """The type name of an ``Object{...}`` in a field: ``Object.spec`` for ``spec`` of ``Object``.
    """
    cdef dict fields = known_paths.get(struct)
    path = None if fields is None else fields.get(name)
    if path is None:
        fields = known_paths.setdefault(struct, {})
        if len(known_paths) > MOST_PATHS or len(fields) >= MOST_PATHS:
            known_paths.clear()
        path = fields[name] = f"{struct}.{name}"
    return path


@cython.final
@cython.internal
cdef class Converter:
    cdef ReadTrees sources
    cdef list mismatches

    def __cinit__(self, ReadTrees sources):
        self.sources = sources

    cdef object root(self, StructValue value, str name):
        out = self.struct(value, name)
        if self.mismatches is not None:
            raise ConversionError("type mismatch: " + "\n".join(self.mismatches))
        return out

    cdef dict struct(self, StructValue value, str expected):
        cdef dict out = {}
        if value.type_name != expected:
            self.mismatches = self.mismatches or []
            self.mismatches.append(
                f'unexpected type name "{value.type_name}", expected "{expected}", '
                "which matches field name path from root Object type"
            )
        for name, item in value.fields.items():
            kind = type(item)
            if kind is Optional and (<Optional>item).held is not MISSING:
                item = (<Optional>item).held
                kind = type(item)
            if kind is str or kind is int or kind is bool or kind is float:
                out[name] = item
            elif kind is list:
                out[name] = self.items(item, path_of(expected, name))
            else:
                try:
                    out[name] = self.member(item, kind, path_of(expected, name))
                except _Unnamed as problem:
                    raise _Unnamed(f'fail to convert field "{name}": {problem}') from None
        return out

    cdef object member(self, object item, object kind, str expected):
        """A map, an object or another value in a field. Since 1.38, an error inside an object is an
        error of the whole value (apiserver pkg/cel/mutation/dynamic/objects.go: convertField).
        """
        if kind is dict:
            return self.entries(item, expected)
        if kind is StructValue and self.sources is not None and self.sources.since_1_38:
            descend()
            return self.struct(item, expected)
        return self.inner(item, expected)

    cdef list items(self, list value, str expected):
        for item in value:
            if item is None or type(item) is list or type(item) is dict:
                if self.was_read(value):
                    return self.read(value)
                break
        if not value:
            return self.read(value) if self.was_read(value) else EMPTY
        return [self.inner(item, expected) for item in value]

    cdef dict entries(self, dict value, str expected):
        cdef dict out = {}
        for item in value.values():
            if item is None or type(item) is list or type(item) is dict:
                if self.was_read(value):
                    return self.read(value)
                break
        for key, item in value.items():
            if type(key) is not str:
                raise _Unnamed(f"map key {quoted_key(key)} is of type {key_type(key)}, not string")
            out[key] = self.inner(item, expected)
        return out

    cdef object inner(self, object value, str expected):
        cdef object kind = type(value)
        if kind is str or kind is int or kind is bool or kind is float:
            return value
        descend()
        if kind is StructValue:
            try:
                return self.struct(value, expected)
            except _Unnamed as problem:
                return Foreign(str(problem), str(problem), "*types.Err")
        if kind is list or kind is dict:
            if not self.was_read(value):
                return self.written(value, expected)
            return value if self.sources.form(value) == PLAIN else go_value(value, self.sources)
        if kind is Optional:
            held = (<Optional>value).held
            return None if held is MISSING else self.inner(held, expected)
        if kind is TypeValue:
            return (<TypeValue>value).name
        return foreign(value)

    cdef object written(self, object value, str expected):
        """A list or map that the expression created inside another list or map. It has no native
        form.
        """
        if self.sources is None:
            return self.items(value, expected) if type(value) is list \
                else self.entries(value, expected)
        if type(value) is list:
            inside = [self.inner(item, expected) for item in value]
            shown = ", ".join([syntax(item) for item in inside])
            return Foreign(plain(inside), f"[]ref.Val{{{shown}}}", "[]ref.Val")
        members = {str(key): self.inner(item, expected) for key, item in value.items()}
        shown = ", ".join([f"{quote(key)}:{syntax(item)}" for key, item in members.items()])
        return Foreign(plain(members), f"map[ref.Val]ref.Val{{{shown}}}", "map[ref.Val]ref.Val")

    cdef bint was_read(self, object container) except -1:
        return self.sources is not None and self.sources.came_as_json(container)

    cdef object read(self, object value):
        """A list or map that was read, as the value of a field. Since 1.37 its lists and maps are
        rebuilt: an empty list becomes Go's nil, and null is not JSON.
        """
        cdef object kind = type(value), out = value
        if self.sources.act is None:
            return value
        if value is None:
            return foreign(None)
        if kind is not list and kind is not dict:
            return value
        if kind is list and not value:
            return EMPTY
        descend()
        for key, item in value.items() if kind is dict else enumerate(value):
            after = self.read(item)
            if after is not item:
                out = value.copy() if out is value else out
                out[key] = after
        return out


cdef object foreign(object value):
    """A value that is not JSON in Go, as error messages print it."""
    cdef object kind = type(value)
    if kind is CelError:
        # Kubernetes would write {} into the object.
        raise ConversionError(f"{NO_JSON}{(<CelError>value).message}")
    if value is None:
        return Foreign("NULL_VALUE", "0", "structpb.NullValue")
    if kind is UInt:
        number = (<UInt>value).value
        return Foreign(str(number), hex(number), "uint64")
    if kind is bytes:
        octets = ", ".join([hex(octet) for octet in value])
        return Foreign(f"[{' '.join(map(str, value))}]", f"[]uint8{{{octets}}}", "[]uint8")
    if kind is Timestamp:
        return Foreign(*moment((<Timestamp>value).seconds, (<Timestamp>value).nanos), "time.Time")
    if kind is Duration:
        nanos = (<Duration>value).nanos
        return Foreign(span(nanos), str(nanos), "time.Duration")
    name = type_name(value)
    go = OPAQUE_GO_VALUES.get(name, name.rpartition(".")[2])
    shown = str(value) if isinstance(value, Opaque) else go
    return Foreign(shown, f"({go}) {shown}", go)
