"""Which values that expressions read are Go structs, maps and lists (since Kubernetes 1.37)."""

from policyd._core.values.activation cimport Activation, Typing


cdef class TypedValues(Typing):
    cdef object types       # the Go types of kinds
    cdef tuple kind         # group, version and kind of object and oldObject
    cdef dict known         # the schema.types.Field of each container, by its id
    cdef tuple roots        # None: the slots of the activation; else these, and their kinds
    cdef list found         # the roots whose containers are known, which keeps their ids
    cdef bint plain_object  # whether object and oldObject are read as JSON
    cdef bint plain_old

    cdef int read_as(self, bint plain_object, bint plain_old) except -1
    cdef int note_roots(self, Activation act) except -1
    cdef int note_objects(self, Activation act) except -1
    cdef int note_root(self, object value, tuple kind) except -1


cdef TypedValues typed_values(object types, tuple kind)
