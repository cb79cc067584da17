"""The schema of a Kubernetes kind for mutations: how values merge, and how Go decodes them."""


cpdef enum Scalar:
    NO_SCALAR
    NUMERIC
    STRING
    BOOLEAN
    UNTYPED   # any of the three: quantities, times, int-or-string


cpdef enum Relation:
    ATOMIC    # replaced as a whole
    SET       # items are their own keys
    KEYED     # items are objects, identified by SchemaType.keys


cpdef enum Decoding:
    """How Go decodes a value; ANYTHING for custom resources, which have no Go type."""
    ANYTHING
    STRUCT
    MAP
    LIST
    GO_STRING
    GO_BOOL
    INT32
    INT64
    FLOAT
    LEAF      # a type with its own decoder: SchemaType.leaf


cdef class SchemaType:
    # Several of is_map, is_list and scalar are set if the schema leaves the type open.
    cdef public str name            # Go's name of a struct, otherwise ""
    cdef public Scalar scalar
    cdef public bint is_map
    cdef public bint atomic         # of the map
    cdef public dict fields         # declared keys: {name: Field}
    cdef public Field extra         # undeclared keys; None: they are rejected
    cdef public bint is_list
    cdef public Relation relation
    cdef public tuple keys          # of a KEYED list
    cdef public dict key_defaults   # {key: value} for items without the key
    cdef public Field item
    cdef public Decoding decoding
    cdef public object leaf         # (value) -> value as Go prints it; ValueError with Go's message
    # What defaulting derived from the type at first use; refers to nothing above the type.
    cdef public object absent
    cdef public object defaults


cdef class Field:
    cdef readonly SchemaType type
    cdef readonly str via           # the embedded Go structs that contain it: "VolumeSource."
    cdef readonly str go            # the Go type as error messages print it
    cdef readonly bint pointer      # a zero value differs from a missing one
    cdef readonly bint omitted      # an empty value is not printed
    cdef readonly bint omitted_zero  # an empty struct is not printed


cdef inline object kind_of(object value):
    """The class of a JSON value, for code in which ``type`` is a SchemaType."""
    return type(value)
