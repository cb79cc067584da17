"""The check of a value against a schema."""

from policyd._core.schema.types cimport SchemaType

cdef list value_problems(object value, SchemaType type, bint live, bint atomics)
