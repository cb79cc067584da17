"""Label selectors: matches labels with matchLabels and matchExpressions.

Source: Selector in apimachinery's ``pkg/labels``. ``match_resources.pyx`` gets the labels.
"""

cimport cython

from policyd._core.match.labels import requirement_error

cdef object ABSENT = object()


@cython.final
cdef class Requirement:
    """One condition on the label ``key``.

    ``values`` are the values that match (with ``negative``: that do not match); None: any value
    matches (with ``negative``: the label must be missing).
    """
    cdef str key
    cdef frozenset values
    cdef str value      # the single value, if there is one: no set is needed
    cdef bint negative

    def __init__(self, str key not None, str operator not None, list values not None):
        #: (str, str, list[str]) -> None
        self.key = key
        self.negative = operator in ("NotIn", "DoesNotExist")
        self.values = frozenset(values) if operator in ("In", "NotIn", "=") else None
        self.value = values[0] if len(values) == 1 else None

    cdef bint accepts(self, dict labels) except -1:
        cdef object found = labels.get(self.key, ABSENT)
        if found is ABSENT:
            return self.negative
        if type(found) is not str:
            return True  # not a Kubernetes label: its policy must not miss the object
        if self.value is not None:
            return (found == self.value) != self.negative
        if self.values is not None:
            return (found in self.values) != self.negative
        return not self.negative


@cython.final
cdef class Selector:
    """Matches if all requirements match; without requirements always (see ``empty``)."""

    def __init__(self, dict selector=None):
        #: (dict[str, Any] | None) -> None
        cdef list found = []
        cdef str error
        for key, value in sorted(((selector or {}).get("matchLabels") or {}).items()):
            found.append((key, "=", [value]))
        for expression in (selector or {}).get("matchExpressions") or ():
            operator, values = expression.get("operator", ""), expression.get("values") or []
            found.append((expression.get("key", ""), operator, list(values)))
        for key, operator, values in found:
            error = requirement_error(key, operator, values)
            if error:
                raise ValueError(error)
        self.requirements = tuple([Requirement(*parts) for parts in found])
        self.keys = frozenset([key for key, _, _ in found])
        self.empty = not found

    cpdef bint matches(self, dict labels) except -1:
        #: (dict[str, str]) -> bool
        """Whether an object with these labels is selected."""
        cdef Requirement requirement
        for requirement in self.requirements:
            if not requirement.accepts(labels):
                return False
        return True
