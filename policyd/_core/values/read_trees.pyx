"""The trees that an expression could read, and the forms in which it reads them."""

cimport cython

from policyd._core.go.printing import Foreign, plain, syntax
from policyd._core.system.c_stack cimport descend
from policyd._core.values.activation cimport PLAIN, STRUCT, form_of
from policyd._core.values.elements cimport NO_ITEMS
from policyd._core.values.types cimport KeyedMap


cdef ReadTrees read_trees(tuple trees, list reads, Activation act, bint hands_on):
    """``reads`` has the values of ``reads.NAME``; ``act`` is the activation of the evaluation."""
    cdef ReadTrees made = ReadTrees.__new__(ReadTrees)
    made.trees, made.reads, made.hands_on = trees, reads, hands_on
    made.since_1_38 = act.since_1_38
    made.act = None if act.typing is None else act
    return made


@cython.final
cdef class ReadTrees:
    """The trees that an expression could read (object, oldObject, params ...). Values that it read
    and values that it created are all plain dicts and lists; only identity distinguishes them.
    """

    def __init__(self, tuple trees not None):
        #: (tuple[object, ...]) -> None
        self.trees = trees

    cdef bint came_as_json(self, object container) except -1:
        """Whether this is a part of one of the trees."""
        if container is NO_ITEMS:
            return False
        if self.known is None:
            self.known = set()
            for source in self.trees:
                collect(source, self.known)
        if self.reads is not None and id(container) not in self.known:
            # They may be large, and the object has nearly all values that are looked up.
            for source in self.reads:
                collect(source, self.known)
            self.trees, self.reads = (*self.trees, *self.reads), None
        return id(container) in self.known

    cdef Form form(self, object container) except *:
        """The form of a list or map in the value of the expression."""
        return form_of(self.act, container) if self.hands_on and self.act is not None else PLAIN

    cdef str go_type(self, object container):
        """The Go type of a list or map whose form is not plain."""
        return self.act.typing.go_type(container)


cdef int collect(object value, set known) except -1:
    """Add the ids of all containers of the tree, which outlives the set."""
    if type(value) is KeyedMap:
        collect((<KeyedMap>value).first, known)
        return collect((<KeyedMap>value).rest, known)
    if type(value) is dict or type(value) is list:
        if id(value) in known:  # the request contains the object again
            return 0
        descend()
        known.add(id(value))
        for item in (<dict>value).values() if type(value) is dict else <list>value:
            collect(item, known)
    return 0


cdef str unsuitable(object container, ReadTrees sources):
    """The error for a Go list or map in a JSON Patch."""
    cdef str kind = "'list(dyn)'" if type(container) is list else "'map(dyn, dyn)'"
    if sources.form(container) == STRUCT:
        kind = f"struct type {sources.go_type(container)}"
        return f"type conversion error from {kind} to *structpb.Value"
    return f"type conversion error from {kind} to '*structpb.Value'"


cdef object go_value(object container, ReadTrees sources):
    """A Go list or map inside one that the expression created. Structs print as maps."""
    go = sources.go_type(container)
    generic = "[]interface {}" if type(container) is list else "map[string]interface {}"
    return Foreign(plain(container), go + syntax(container).removeprefix(generic), go)
