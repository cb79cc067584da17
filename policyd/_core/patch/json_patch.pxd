"""JSON Patch as the API server applies it."""


cdef class PatchOperation:
    """``source`` is ``from`` in the patch; ``value`` is ABSENT if the operation has none."""

    cdef readonly str op
    cdef readonly str path
    cdef readonly str source
    cdef readonly object value


# The operations of a list of JSONPatch{...}; ``values`` (if not None) gets theirs. Raises
# MutationError.
cdef list operations_in(list items, tuple sources, list values)

# The patched document, or ``document`` itself if a test failed. Raises JSONPatchError.
cdef object patched(list operations, object document)
