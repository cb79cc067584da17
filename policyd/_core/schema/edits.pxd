"""Where a changed copy of a tree differs from the tree, as merges note it: what follows a merge
then visits only that, and not all members of each map on the way.
"""


cdef class Edit:
    cdef object name
    cdef bint added     # whether the key is new
    cdef Edit below     # the last change of the new value; None: it is another value
    cdef Edit before    # the change before this one; None: this is the first


cdef class Edits:
    cdef Edit latest

    cdef Edit take(self)


cdef Edit new_edit(object name, bint added, Edit below, Edit before)

cdef list all_edits(Edit last)
