"""The shape of a Kubernetes kind as the mutators need it: what merges, and what Go can decode.

A schema is a graph of types (kinds such as CustomResourceDefinition contain themselves), made once
by ``policyd.mutation.schemas.schemas`` and never changed afterwards.
"""


cpdef enum Scalar:
    NO_SCALAR
    NUMERIC
    STRING
    BOOLEAN
    UNTYPED   # any of the three: quantities, times, int-or-string


cpdef enum Relation:
    ATOMIC    # replaced as a whole
    SET       # items are their own keys
    KEYED     # items are objects, told apart by Type.keys


cpdef enum Decoding:
    """How Go decodes a value; ANYTHING for custom resources, which no Go type bounds."""
    ANYTHING
    STRUCT
    MAP
    LIST
    GO_STRING
    GO_BOOL
    INT32
    INT64
    FLOAT
    LEAF      # a type that decodes itself: Type.leaf


cdef class SchemaType:
    # Several of is_map, is_list and scalar hold together where a schema leaves the type open.
    cdef public str name            # Go's name of a struct, "" for all else
    cdef public Scalar scalar
    cdef public bint is_map
    cdef public bint atomic         # of the map
    cdef public dict fields         # declared keys: {name: Field}
    cdef public Field extra         # undeclared keys; None: they are refused
    cdef public bint is_list
    cdef public Relation relation
    cdef public tuple keys          # of a KEYED list
    cdef public dict key_defaults   # {key: value} that an item without the key has all the same
    cdef public Field item
    cdef public Decoding decoding
    cdef public object leaf         # (value) -> value as Go prints it; ValueError with Go's words


cdef class Field:
    """A type at one place, with what Go knows of the place."""
    cdef readonly SchemaType type
    cdef readonly str via           # the embedded Go structs it comes through: "VolumeSource."
    cdef readonly str go            # the Go type as error messages print it
    cdef readonly bint pointer      # zero differs from absent
    cdef readonly bint omitted      # an empty value is not printed
    cdef readonly bint omitted_zero  # nor is a struct without content


cdef inline object kind_of(object value):
    """The class of a JSON value, where ``type`` is the name of a schema's."""
    return type(value)
