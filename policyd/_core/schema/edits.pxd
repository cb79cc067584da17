"""Where a changed copy of a tree differs from the tree, as merges note it: what follows a merge
then visits only that, and not all members of each map on the way.
"""


cdef class Edit:
    """One change of a copied map or list, and the changes before it.

    ``name`` is a key that was set or removed, each key only once, new ones in their order. In a
    list whose items are all maps with a name (a unique key that is a string) it is the index of an
    item that was replaced by a changed copy of its own.
    """

    cdef object name
    cdef bint added     # whether the key is new
    cdef Edit below     # the last change of the new value; None: it is another value
    cdef Edit before    # the change before this one; None: this is the first


cdef class Edits:
    """The last change of the value that was merged last; None: not known."""

    cdef Edit latest

    cdef Edit take(self)


cdef Edit new_edit(object name, bint added, Edit below, Edit before)

# The changes up to this one, in order.
cdef list all_edits(Edit last)
