"""CEL types that JSON does not have; type names and sizes of all values. No operations.

JSON data stays as the decoder returns it: ``None bool int float str list dict``, and ``bytes``. The
classes here, all immutable, are for other types.

Maps are plain dicts. String and int keys are stored as they are; a bool or double key is wrapped in
``MapKey`` and a uint key is a ``UInt``, because in Python ``True == 1 == 1.0`` and in CEL they are
different keys. ``map_key`` converts a value to a key, ``key_value`` converts a key to a value.
"""

cimport cython

from policyd.errors import CelPanic

#: MISSING: Final[object]


cdef class _Missing:
    def __repr__(self):
        return "MISSING"


MISSING = _Missing()


@cython.final
@cython.freelist(16)
cdef class UInt:
    """A CEL uint."""
    def __init__(self, value):
        #: (int) -> None
        self.value = value

    def __eq__(self, other):
        return type(other) is UInt and self.value == (<UInt>other).value

    def __hash__(self):
        return hash(self.value)

    def __repr__(self):
        return f"UInt({self.value})"


@cython.final
@cython.freelist(16)
cdef class Timestamp:
    """A point in time: seconds since 1970 UTC, 0 <= nanos < 1e9, and the offset in its string."""
    def __init__(self, seconds, nanos=0, offset=0):
        #: (int, int, int) -> None
        self.seconds = seconds
        self.nanos = nanos
        self.offset = offset

    def __eq__(self, other):
        if type(other) is not Timestamp:
            return False
        return (self.seconds == (<Timestamp>other).seconds
                and self.nanos == (<Timestamp>other).nanos)

    def __hash__(self):
        return hash((self.seconds, self.nanos))

    def __repr__(self):
        return f"Timestamp({self.seconds}, {self.nanos}, {self.offset})"


@cython.final
@cython.freelist(16)
cdef class Duration:
    """A duration in nanoseconds."""
    def __init__(self, nanos):
        #: (int) -> None
        self.nanos = nanos

    def __eq__(self, other):
        return type(other) is Duration and self.nanos == (<Duration>other).nanos

    def __hash__(self):
        return hash(self.nanos)

    def __repr__(self):
        return f"Duration({self.nanos})"


@cython.final
@cython.freelist(16)
@cython.trashcan(True)  # freeing optionals in optionals takes no C stack
cdef class Optional:
    """``optional.of(value)``, or ``optional.none()`` if held is MISSING."""
    def __init__(self, *held):
        #: (Any) -> None
        self.held = held[0] if held else MISSING

    @property
    def value(self):
        #: () -> Any
        """The value inside; raises ValueError for ``optional.none()``."""
        if self.held is MISSING:
            raise ValueError("optional.none() holds no value")
        return self.held

    def __bool__(self):
        #: () -> bool
        return self.held is not MISSING

    def __eq__(self, other):
        if type(other) is not Optional:
            return False
        return self.held == (<Optional>other).held

    def __hash__(self):
        held = self.held  # without recursion: hash() does not guard the C stack
        while type(held) is Optional:
            held = (<Optional>held).held
        return hash(("optional", held))

    def __repr__(self):
        return "Optional()" if self.held is MISSING else f"Optional({self.held!r})"


@cython.final
cdef class TypeValue:
    """A type as a value: ``type(1)``, ``int``."""
    def __init__(self, str name not None):
        #: (str) -> None
        self.name = name

    def __eq__(self, other):
        return type(other) is TypeValue and self.name == (<TypeValue>other).name

    def __hash__(self):
        return hash(("type", self.name))

    def __repr__(self):
        return f"TypeValue({self.name!r})"


@cython.final
cdef class StructValue:
    """``Object.spec{replicas: 1}``: fields in the order of the expression."""
    #: fields: dict[str, Any]
    def __init__(self, str type_name not None, dict fields not None):
        #: (str, dict[str, Any]) -> None
        self.type_name = type_name
        self.fields = fields

    def __eq__(self, other):
        if type(other) is not StructValue:
            return False
        return (self.type_name == (<StructValue>other).type_name
                and self.fields == (<StructValue>other).fields)

    __hash__ = None

    def __repr__(self):
        return f"StructValue({self.type_name!r}, {self.fields!r})"


@cython.final
cdef class KeyedMap:
    """A map from strings to lists that is only read by key. It returns the entry in ``first``,
    where None means no entry, else the entry in ``rest``. ``asked`` records the result for each
    key.
    """
    def __init__(self, dict first not None, dict rest not None, dict asked=None):
        #: (dict[str, list[Any] | None], dict[str, list[Any]], dict[str, list[Any] | None] | None)
        #: -> None
        self.first = first
        self.rest = rest
        self.asked = asked

    def noting(self, dict asked not None):
        #: (dict[str, list[Any] | None]) -> KeyedMap
        """A copy that records the keys."""
        return KeyedMap(self.first, self.rest, asked)

    cdef object under(self, object key):
        """The list, or MISSING."""
        if type(key) is not str:
            return MISSING
        found = self.first.get(key, MISSING)
        if found is MISSING:
            found = self.rest.get(key, MISSING)
        elif found is None:
            found = MISSING
        if self.asked is not None:
            self.asked[key] = None if found is MISSING else found
        return found


@cython.final
cdef class MapKey:
    """Any other value as a map key."""
    #: value: bool | float
    def __init__(self, value):
        #: (bool | float) -> None
        self.value = value
        self.identity = _identity(value)
        self.hashed = hash(self.identity)

    def __eq__(self, other):
        return type(other) is MapKey and self.identity == (<MapKey>other).identity

    def __hash__(self):
        return self.hashed

    def __repr__(self):
        return f"Key({self.value!r})"


cdef tuple _identity(object value):
    """The identity of a key: a scalar's value, otherwise the object itself."""
    kind = type(value)
    if kind is bool or kind is float:
        return kind, value
    if kind is Duration:
        return kind, (<Duration>value).nanos
    if kind is Timestamp:
        return (kind, (<Timestamp>value).seconds, (<Timestamp>value).nanos,
                (<Timestamp>value).offset)
    if kind is TypeValue:
        return kind, (<TypeValue>value).name
    if isinstance(value, Opaque):
        name = (<Opaque>value).type_name()
        if name in UNHASHABLE:
            raise CelPanic(f"runtime error: hash of unhashable type {UNHASHABLE[name]}")
        if name in ("net.IP", "net.CIDR"):
            return kind, str(value)
    return kind, id(value)


cdef dict UNHASHABLE = {"kubernetes.NamedFormat": "cel.Format", "kubernetes.Semver": "cel.Semver"}


cdef class Opaque:
    """Base of the types without fields: quantities, URLs, addresses ..."""
    cdef str type_name(self):
        raise TypeError("an opaque value has no type name")

    cdef object equals(self, object other):
        """True, False or a CelError."""
        return self is other

    cdef int64_t size(self):
        """the size as cel-go's actualSize counts it."""
        return 1

    cdef str go_name(self):
        name = self.type_name()
        return OPAQUE_GO_NAMES.get(name, name)


NONE = Optional()
globals()["MISSING"] = MISSING  # for Python code; C code uses the declaration in the header
cdef MapKey TRUE_KEY = MapKey(True)
cdef MapKey FALSE_KEY = MapKey(False)


cdef UInt uint(uint64_t value):
    cdef UInt made = UInt.__new__(UInt)
    made.value = value
    return made


cdef Timestamp timestamp(int64_t seconds, int32_t nanos, int32_t offset):
    cdef Timestamp made = Timestamp.__new__(Timestamp)
    made.seconds = seconds
    made.nanos = nanos
    made.offset = offset
    return made


cdef Duration duration(int64_t nanos):
    cdef Duration made = Duration.__new__(Duration)
    made.nanos = nanos
    return made


cdef Optional some(object value):
    cdef Optional made = Optional.__new__(Optional)
    made.held = value
    return made


cdef object map_key(object value):
    """The dict key for this value. Values with equal dict keys are equal keys in CEL."""
    if value is True:
        return TRUE_KEY
    if value is False:
        return FALSE_KEY
    kind = type(value)
    if kind is str or kind is int or kind is UInt or value is None:
        return value
    if kind is bytes:
        raise CelPanic("runtime error: hash of unhashable type types.Bytes")
    return MapKey(value)


cdef object key_value(object key):
    """The CEL value of a key of a dict."""
    return (<MapKey>key).value if type(key) is MapKey else key


cdef dict TYPE_NAMES = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    UInt: "uint",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    TypeValue: "type",
}


cdef str type_name(object value):
    """The CEL type name of any value: "int", "list", "google.protobuf.Timestamp", ..."""
    name = TYPE_NAMES.get(type(value))
    if name is not None:
        return name
    if type(value) is StructValue:
        return (<StructValue>value).type_name
    if isinstance(value, Opaque):
        return (<Opaque>value).type_name()
    raise TypeError(f"{type(value).__name__} is not a CEL value")


cdef int64_t size_of(object value) except -1:
    """cel-go's actualSize: code points, bytes, elements or entries; 1 for everything else."""
    while True:
        kind = type(value)
        if kind is str:
            return len(<str>value)
        if kind is list:
            return len(<list>value)
        if kind is dict:
            return len(<dict>value)
        if kind is bytes:
            return len(<bytes>value)
        if kind is not Optional:
            return (<Opaque>value).size() if isinstance(value, Opaque) else 1
        value = (<Optional>value).held


cdef dict GO_NAMES = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    list: "*types.baseList",
    dict: "*types.baseMap",
    UInt: "types.Uint",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Optional: "*types.Optional",
    TypeValue: "*types.Type",
}
cdef dict OPAQUE_GO_NAMES = {
    "kubernetes.NamedFormat": "cel.Format",
    "kubernetes.Quantity": "cel.Quantity",
    "kubernetes.Semver": "cel.Semver",
    "kubernetes.URL": "cel.URL",
    "net.CIDR": "cel.CIDR",
    "net.IP": "cel.IP",
}
# The Go types inside opaque values, except for NamedFormat.
OPAQUE_GO_VALUES = {
    "kubernetes.Quantity": "*resource.Quantity",
    "kubernetes.Semver": "semver.Version",
    "kubernetes.URL": "*url.URL",
    "net.CIDR": "netip.Prefix",
    "net.IP": "netip.Addr",
}
cdef dict RAW_NAMES = {type(None): "<nil>", list: "[]interface {}", dict: "map[string]interface {}"}


cdef str go_name(object value):
    """The name of the Go type that cel-go uses for the value, for two error messages."""
    name = GO_NAMES.get(type(value))
    if name is not None:
        return name
    if type(value) is StructValue:
        patch = (<StructValue>value).type_name == "JSONPatch"
        return "*mutation.JSONPatchVal" if patch else "*dynamic.ObjectVal"
    return (<Opaque>value).go_name() if isinstance(value, Opaque) else type_name(value)


def qualifier_type(value, raw=False):
    #: (object, bool) -> str
    """The Go type of a value that is not a valid key; ``raw``: before its conversion to CEL."""
    if raw and (value is None or type(value) is list or type(value) is dict):
        return RAW_NAMES[type(value)]
    return go_name(value)
