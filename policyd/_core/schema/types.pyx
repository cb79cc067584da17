"""Types of schemas: plain data. ``types.pxd`` documents the attributes."""


cdef class SchemaType:
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
    def __init__(self, SchemaType type not None, str go="", *, via="", pointer=False, omitted=False,
                 omitted_zero=False):
        self.type = type
        self.go = go
        self.via = via
        self.pointer = pointer
        self.omitted = omitted
        self.omitted_zero = omitted_zero

    def list_keys(self, tuple path not None):
        cdef Field field = self
        for step in path:
            field = field.type.item if type(step) is int \
                else field.type.fields.get(step, field.type.extra)
            if field is None:
                return None
        return field.type.keys or None
