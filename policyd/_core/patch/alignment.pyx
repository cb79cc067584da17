"""Pairs of items of two lists that are versions of the same item: by identity, or by fewest edits.
"""

from cpython cimport array

import array
from bisect import bisect_left

from policyd._core.json.equality cimport same

# An edit script takes the product of the lengths; above this only equal ends are paired.
cdef Py_ssize_t MAX_TABLE = 16_384
# Fields that identify list items in Kubernetes, the most likely first.
cdef tuple IDENTIFYING = (
    "name", "key", "mountPath", "containerPort", "port", "devicePath", "ip", "uid", "type",
    "topologyKey", "id",
)
cdef array.array INTS = array.array("i")


cdef object guessed(list old, list new):
    """As ``identified``, by the first field that identifies all items; None if there is none."""
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
    """Pairs of positions of the most items of ``old`` that ``new`` has in the same order."""
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
    """Pairs of positions of equal items, so that the fewest operations change the rest."""
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
