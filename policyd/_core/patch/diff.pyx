"""The smallest JSON Patch (RFC 6902) between two documents. ``apply.pyx`` applies a patch.

Pairs the items of two lists by identity, or by the fewest edits.
"""

cimport cython
import array
from cpython cimport array
from cpython.object cimport PyObject
from bisect import bisect_left

from policyd._core.json.equality cimport PyDict_Next, alike, check_depth, counterpart, same
from policyd._core.patch.pointer cimport escape, pointer_of

# No Kubernetes kind nests lists deeper; deeper lists are not searched for equal ends.
cdef int DEEP = 32
cdef object ABSENT = object()


cpdef list diff(object old, object new, keys=None):
    #: (Any, Any, Callable[[tuple[str | int, ...]], Sequence[str] | None] | Mapping[str,
    #: Sequence[str]] | None) -> list[dict[str, Any]]
    """The RFC 6902 operations (add, remove, replace) that change ``old`` into ``new``.

    Each differing key of a map gives one operation; the order of keys is ignored. Items of a list
    of maps are matched by identity: ``keys`` returns the fields that identify the items of a list.
    It is a function of the path (keys and indexes), or a dict by pointer with ``*`` for each index
    (``/spec/containers/*/env``). Other lists are matched by a field that identifies all items, if
    there is one, otherwise with the fewest operations. 1, 1.0 and true differ. The operations share
    values with ``new``. Subtrees that are the same object in both are skipped. Raises PatchError if
    they are nested deeper than ``json.equality.MAX_DEPTH`` levels.
    """
    cdef Differ differ = Differ.__new__(Differ)
    differ.operations, differ.path, differ.keys = [], [], keys
    differ.walk(old, new, 0)
    return differ.operations


@cython.final
cdef class Differ:
    """The state of one diff: the current path, and the operations found."""

    cdef int emit(self, str op, object value) except -1:
        cdef dict operation = {"op": op, "path": pointer_of(self.path)}
        if value is not ABSENT:
            operation["value"] = value
        self.operations.append(operation)
        return 0

    cdef int emit_at(self, object token, str op, object value) except -1:
        self.path.append(token)
        self.emit(op, value)
        self.path.pop()
        return 0

    cdef int walk_at(self, object token, object old, object new, int depth) except -1:
        self.path.append(token)
        self.walk(old, new, depth)
        self.path.pop()
        return 0

    cdef int walk(self, object old, object new, int depth) except -1:
        cdef object kind = type(old)
        if old is new:
            return 0
        if kind is type(new):
            if kind is dict:
                check_depth(depth)
                return self.maps(<dict>old, <dict>new, depth)
            if kind is list:
                check_depth(depth)
                return self.lists(<list>old, <list>new, depth)
            if old == new:
                return 0
        return self.emit("replace", new)

    cdef int emit_new(self, str here, object name, object value) except -1:
        """Add a key to the map at the pointer ``here``. New keys follow the map's old keys, each in
        their order.
        """
        token = escape(<str>name) if type(name) is str else str(name)
        self.operations.append({"op": "add", "path": f"{here}/{token}", "value": value})
        return 0

    cdef int maps(self, dict old, dict new, int depth) except -1:
        cdef Py_ssize_t common = 0, at = 0, place = 0
        cdef PyObject* key
        cdef PyObject* value
        cdef PyObject* other
        while PyDict_Next(<PyObject*>old, &at, &key, &value):
            other = counterpart(<PyObject*>new, key, &place)
            if other is NULL:
                self.emit_at(<object>key, "remove", ABSENT)
                continue
            common += 1
            if value != other and not alike(<object>value, <object>other):
                self.walk_at(<object>key, <object>value, <object>other, depth + 1)
        if common < len(new):
            here = pointer_of(self.path)
            # The old map has all keys before ``place``.
            while PyDict_Next(<PyObject*>new, &place, &key, &value):
                name = <object>key
                if name not in old:
                    self.emit_new(here, name, <object>value)
        return 0

    cdef int lists(self, list old, list new, int depth) except -1:
        cdef Py_ssize_t start = 0, old_end = len(old), new_end = len(new)
        if old_end == new_end and self.keys is not None and self.paired(old, new):
            for start in range(old_end):
                if old[start] is not new[start]:
                    self.walk_at(start, old[start], new[start], depth + 1)
            return 0
        while start < old_end and start < new_end and equal_ends(old[start], new[start], depth):
            start += 1
        # If both lists have an item at ``start``, the items are known to differ.
        while old_end > start and new_end > start and old_end + new_end > 2 * start + 2 and (
            equal_ends(old[old_end - 1], new[new_end - 1], depth)
        ):
            old_end -= 1
            new_end -= 1
        if start == old_end and start == new_end:
            return 0
        old, new = old[start:old_end], new[start:new_end]
        known = self.identities(old, new)
        if known is None:
            pairs = equal_pairs(old, new, depth + 1)
            return self.edit(old, new, pairs, False, start, depth + 1)
        return self.edit(old, new, kept_pairs(known[0], known[1]), True, start, depth + 1)

    cdef bint paired(self, list old, list new) except -1:
        """Whether each item has the same given identity as the item in its place, and no other has
        it.

        The usual case, which needs no search.
        """
        cdef tuple fields = self.given_fields()
        cdef str field
        cdef set seen
        cdef Py_ssize_t i
        if fields is None or len(fields) != 1:
            return False
        field, seen = fields[0], set()
        for i in range(len(old)):
            if type(old[i]) is not dict or type(new[i]) is not dict:
                return False
            value = (<dict>old[i]).get(field)
            if type(value) is not str:
                return False
            if old[i] is not new[i]:
                other = (<dict>new[i]).get(field)
                if other is not value and (type(other) is not str or <str>other != <str>value):
                    return False
            if len(old) > 1:
                seen.add(value)
        return len(old) < 2 or len(seen) == len(old)

    cdef object identities(self, list old, list new):
        """The identities of the items of both lists, as two lists; None if there are none."""
        cdef tuple fields = None
        for items in (old, new):
            for item in <list>items:
                if type(item) is not dict:
                    return None
        if self.keys is not None:
            fields = self.given_fields()
        if fields is not None:
            found = identified(old, new, fields)
            if found is not None:
                return found
        return guessed(old, new)

    cdef tuple given_fields(self):
        if callable(self.keys):
            fields = self.keys(tuple(self.path))
        else:
            pattern = ["*" if type(token) is int else token for token in self.path]
            fields = self.keys.get(pointer_of(pattern))
        return tuple(fields) if fields else None

    cdef int edit(
        self, list old, list new, list kept, bint changed, Py_ssize_t at, int depth
    ) except -1:
        """Add the operations for two sections of a list that begin at index ``at``.

        ``kept`` has the pairs of positions to keep; ``changed``: their items may differ.
        """
        cdef Py_ssize_t i = 0, j = 0, old_kept, new_kept
        for old_kept, new_kept in kept:
            at = self.gap(old[i:old_kept], new[j:new_kept], at, depth)
            if changed:
                self.walk_at(at, old[old_kept], new[new_kept], depth)
            at += 1
            i, j = old_kept + 1, new_kept + 1
        self.gap(old[i:], new[j:], at, depth)
        return 0

    cdef Py_ssize_t gap(self, list old, list new, Py_ssize_t at, int depth) except -1:
        """Replace all of ``old`` with all of ``new``; return the index after them."""
        cdef Py_ssize_t i, both = min(len(old), len(new))
        for i in range(both):
            self.path.append(at)
            self.supplant(old[i], new[i], depth)
            self.path.pop()
            at += 1
        for _ in range(len(old) - both):
            self.emit_at(at, "remove", ABSENT)
        for i in range(both, len(new)):
            self.emit_at(at, "add", new[i])
            at += 1
        return at

    cdef int supplant(self, object old, object new, int depth) except -1:
        """Add one operation: inside the old item if one is enough, otherwise the whole new item."""
        cdef Py_ssize_t before = len(self.operations)
        self.walk(old, new, depth)
        if len(self.operations) > before + 1:
            del self.operations[before:]
            self.emit("replace", new)
        return 0


cdef inline bint equal_ends(object one, object other, int depth) except -1:
    """Whether items at the ends of lists are equal; at deep levels a cheap check that may miss
    some.

    Each level compares everything below it again; on all levels that would take quadratic time.
    """
    return same(one, other, True, depth + 1) if depth < DEEP else alike(one, other)


# An edit script takes the product of the lengths; above this only equal ends are paired.
cdef Py_ssize_t MAX_TABLE = 16_384
# Fields that identify list items in Kubernetes, the most likely first.
cdef tuple IDENTIFYING = (
    "name", "key", "mountPath", "containerPort", "port", "devicePath", "ip", "uid", "type",
    "topologyKey", "id",
)
cdef array.array INTS = array.array("i")


cdef object guessed(list old, list new):
    """Like ``identified``, by the first field that identifies all items; None if no field does."""
    cdef list items = old or new
    cdef str field
    for field in IDENTIFYING:
        if field in <dict>items[0]:
            found = identified(old, new, (field,))
            if found is not None:
                return found
    return None


cdef object identified(list old, list new, tuple fields):
    """The values of ``fields`` of all items, as two lists; None unless they are unique."""
    cdef list found = []
    for items in (old, new):
        seen = {}
        for item in <list>items:
            identity = []
            for field in fields:
                value = (<dict>item).get(field)
                if value is not None and type(value) not in (str, int):
                    return None
                identity.append(value)
            # Items without any of the fields have no identity.
            if identity.count(None) == len(identity):
                return None
            seen[tuple(identity)] = None
        if len(seen) != len(<list>items):
            return None
        found.append(list(seen))
    return found


cdef list kept_pairs(list old, list new):
    """Pairs of positions of the longest sequence of ``old`` items that ``new`` has in this order.
    """
    cdef dict places = {identity: j for j, identity in enumerate(new)}
    cdef list pairs = [], tails = [], ends = [], before = [], kept = []
    cdef Py_ssize_t i, j, last = -1
    cdef bint in_order = True
    for i in range(len(old)):
        j = places.get(old[i], -1)
        if j >= 0:
            in_order = in_order and j > last
            last = j
            pairs.append((i, j))
    if in_order:
        return pairs
    # Longest increasing subsequence: ends[n] is the last pair of the best one of n + 1 pairs.
    for i in range(len(pairs)):
        j = bisect_left(tails, pairs[i][1])
        before.append(ends[j - 1] if j else -1)
        tails[j:j + 1] = [pairs[i][1]]
        ends[j:j + 1] = [i]
    i = ends[-1]
    while i >= 0:
        kept.append(pairs[i])
        i = before[i]
    kept.reverse()
    return kept


cdef list equal_pairs(list old, list new, int depth):
    """Pairs of positions of equal items that leave the fewest operations for the rest."""
    cdef Py_ssize_t start = 0, old_end = len(old), new_end = len(new), i
    cdef list head = [], tail = []
    while start < old_end and start < new_end and same(old[start], new[start], True, depth):
        head.append((start, start))
        start += 1
    while old_end > start and new_end > start and (
        same(old[old_end - 1], new[new_end - 1], True, depth)
    ):
        old_end -= 1
        new_end -= 1
        tail.append((old_end, new_end))
    tail.reverse()
    if (old_end - start) * (new_end - start) <= MAX_TABLE:
        head += [
            (i + start, j + start)
            for i, j in aligned(old[start:old_end], new[start:new_end], depth)
        ]
    return head + tail


cdef list aligned(list old, list new, int depth):
    """The pairs that the shortest edit script keeps (insert, delete and replace cost one each)."""
    cdef Py_ssize_t i, j, rows = len(old), width = len(new) + 1
    cdef int best
    cdef array.array table = array.clone(INTS, (rows + 1) * width, False)
    cdef int *cost = table.data.as_ints
    cdef list pairs = []
    if not rows or width == 1:
        return pairs
    # cost[i * width + j]: number of operations from old[i:] to new[j:].
    for i in range(rows, -1, -1):
        for j in range(width - 1, -1, -1):
            if i == rows or j == width - 1:
                best = <int>(rows - i + width - 1 - j)
            elif same(old[i], new[j], True, depth):
                best = cost[(i + 1) * width + j + 1]
            else:
                best = 1 + min(
                    cost[(i + 1) * width + j + 1],
                    cost[(i + 1) * width + j],
                    cost[i * width + j + 1],
                )
            cost[i * width + j] = best
    i = j = 0
    while i < rows and j < width - 1:
        if same(old[i], new[j], True, depth):
            pairs.append((i, j))
            i += 1
            j += 1
        elif cost[i * width + j] == 1 + cost[(i + 1) * width + j + 1]:
            i += 1
            j += 1
        elif cost[i * width + j] == 1 + cost[(i + 1) * width + j]:
            i += 1
        else:
            j += 1
    return pairs
