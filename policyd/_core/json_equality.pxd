"""When two JSON values are the same."""

cdef int check_depth(int depth) except -1
cdef bint same(object one, object other, bint strict, int depth) except -1
cdef bint alike(object one, object other) except -1
