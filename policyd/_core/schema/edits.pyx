"""Notes of merges about what they changed."""

cimport cython
from cpython.ref cimport Py_REFCNT


# An Edit cannot be part of a reference cycle: it refers to keys and to older Edits.
@cython.final
@cython.no_gc
@cython.freelist(32)
cdef class Edit:
    """One change of a copied map or list, and the changes before it.

    ``name`` is a key that was set or removed, each key only once, new ones in their order. In a
    list whose items are all maps with a name (a unique key that is a string) it is the index of an
    item that was replaced by a changed copy of its own.
    """

    def __dealloc__(self):
        # One by one: a chain of very many Edits that release each other would exhaust the stack.
        cdef Edit rest = self.before, before
        self.before = None
        while rest is not None and Py_REFCNT(rest) == 1:
            before = rest.before
            rest.before = None
            rest, before = before, None


@cython.final
@cython.no_gc
@cython.freelist(4)
cdef class Edits:
    """The last change of the value that was merged last; None: not known."""

    cdef Edit take(self):
        """Return the latest and forget it."""
        cdef Edit latest = self.latest
        self.latest = None
        return latest


cdef Edit new_edit(object name, bint added, Edit below, Edit before):
    cdef Edit edit = Edit.__new__(Edit)
    edit.name, edit.added, edit.below, edit.before = name, added, below, before
    return edit


cdef list all_edits(Edit last):
    """The changes up to this one, in order."""
    cdef list edits = []
    while last is not None:
        edits.append(last)
        last = last.before
    edits.reverse()
    return edits
