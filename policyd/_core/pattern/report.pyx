"""The message about the places where an object does not fit a pattern."""

cimport cython

import json

cdef enum:
    MAX_FOUND = 80   # characters of a value
    MAX_PATH = 300

# Paths of confidential values in a Secret. kubectl apply stores a copy in an annotation.
cdef tuple SECRETS = (
    "data.", "data[", "stringData.", "stringData[",
    "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
)


@cython.final
cdef class PatternReport:
    """Collects places. ``secret`` hides the values of a Secret's data. ``field`` is the path of the
    only place, or the common path of all places, or "". The text has at least one place, and more
    up to ``limit`` bytes.
    """

    def __cinit__(self):
        self.places = []
        self.limit = MAX_TEXT

    cdef int add(self, str path, str expected, object value) except -1:
        path = cut(path, MAX_PATH)
        self.field = common(self.field, path)
        if len(self.places) >= MAX_PLACES:
            self.more += 1
            return 0
        found = "a value" if self.secret and is_secret(path, value) else in_words(value)
        place = f"expected {expected}, found {found}"
        self.places.append(f"{path}: {place}" if path else place)
        return 0

    @staticmethod
    cdef PatternReport saying(str whole, str field):
        cdef PatternReport report = PatternReport.__new__(PatternReport)
        report.whole, report.field = whole, field
        return report

    cdef str text(self):
        if self.whole is not None:
            return self.whole
        cdef Py_ssize_t shown = 0, size = 0
        for place in self.places:
            size += len((<str>place).encode("utf-8", "surrogatepass")) + len("; ")
            if shown and size > self.limit:
                break
            shown += 1
        joined = "; ".join(self.places[:shown])
        more = self.more + len(self.places) - shown
        return f"{joined}; and {more} more" if more else joined


cdef str common(str one, str other):
    """The longest common path; ``one`` is None at first."""
    if one is None or one == other:
        return other
    cdef Py_ssize_t end = 0, i
    cdef Py_ssize_t depth = 0  # a key in brackets may have dots
    for i in range(min(len(one), len(other)) + 1):
        ends = i == len(one) or one[i] in ".["
        if depth == 0 and ends and (i == len(other) or other[i] in ".["):
            end = i
        if i == len(one) or i == len(other) or one[i] != other[i]:
            break
        depth += (one[i] == "[") - (one[i] == "]")
    return one[:end]


cdef bint is_secret(str path, object value) except -1:
    return value is not None and path.startswith(SECRETS)


cdef str in_words(object value):
    """A value in a message: a scalar is printed, cut if it is long."""
    if value is None:
        return "nothing"
    if type(value) is dict:
        return "an object" if value else "an empty object"
    if type(value) is list:
        return f"a list of {len(value)}" if value else "an empty list"
    if type(value) is str:
        value = (<str>value)[:MAX_FOUND]
    return cut(json.dumps(value, ensure_ascii=False, default=str), MAX_FOUND)


cdef str cut(str text, Py_ssize_t limit):
    return text if len(text) <= limit else text[:limit - 3] + "..."


cdef str below(str path, str key):
    """The path of a key or item below a path."""
    if not key or not key.isascii() or not key.replace("_", "a").isalnum():
        if not key.isprintable():
            key = json.dumps(key)
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


cdef str item_of(str path, Py_ssize_t index):
    return f"{path}[{index}]"
