"""How much is left of the C stack of the current thread."""

# Functions that recurse over values call this for each container. Raises CostExceeded before the
# stack ends; the depths that policyd accepts never come near it in a thread of 1 MiB.
cdef int descend() except -1

# Whether there is room to evaluate another expression: its tree has at most 1,000 levels.
cdef bint has_room()
