"""Types of schemas: plain data. ``types.pxd`` documents the attributes.

A schema is a graph of types (kinds such as CustomResourceDefinition contain themselves). It is
created once by ``policyd.mutation.schemas.schemas`` and immutable afterwards.
"""

#: class Scalar(IntFlag):
#:     NO_SCALAR = ...
#:     NUMERIC = ...
#:     STRING = ...
#:     BOOLEAN = ...
#:     UNTYPED = ...
#: class Relation(IntFlag):
#:     ATOMIC = ...
#:     SET = ...
#:     KEYED = ...
#: class Decoding(IntFlag):
#:     ANYTHING = ...
#:     STRUCT = ...
#:     MAP = ...
#:     LIST = ...
#:     GO_STRING = ...
#:     GO_BOOL = ...
#:     INT32 = ...
#:     INT64 = ...
#:     FLOAT = ...
#:     LEAF = ...


cdef class SchemaType:
    #: fields: dict[str, Field]
    #: extra: Field | None
    #: keys: tuple[str, ...]
    #: key_defaults: dict[str, object]
    #: item: Field | None
    #: leaf: Callable[[object], object] | None
    #: absent: object
    #: defaults: object
    def __cinit__(self):
        self.name = ""
        self.fields = {}
        self.keys = ()
        self.key_defaults = {}

    def __repr__(self) -> str:
        forms = [self.name] if self.name else []
        if self.is_map:
            forms.append("map")
        if self.is_list:
            forms.append("list")
        if self.scalar != NO_SCALAR:
            forms.append("scalar")
        return f"<Type {' '.join(forms)}>"


cdef class Field:
    """A type at one place of a schema, with the attributes of the Go field."""
    def __init__(self, SchemaType type not None, str go="", *, via="", pointer=False, omitted=False,
                 omitted_zero=False):
        #: (SchemaType, str, str, bool, bool, bool) -> None
        self.type = type
        self.go = go
        self.via = via
        self.pointer = pointer
        self.omitted = omitted
        self.omitted_zero = omitted_zero

    def list_keys(self, tuple path not None):
        #: (tuple[str | int, ...]) -> tuple[str, ...] | None
        """The keys that identify the items of the list at ``path``, or None.

        ``path`` contains field names and indexes from here: ``("spec", "containers")``.
        """
        cdef Field field = self
        for step in path:
            field = field.type.item if type(step) is int \
                else field.type.fields.get(step, field.type.extra)
            if field is None:
                return None
        return field.type.keys or None
