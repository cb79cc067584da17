"""Loops that need newer macros and functions, and what older versions of Kubernetes have instead.

The API server accepts in a policy that is written only what the version before its own has, so that
it can be downgraded.
"""

from policyd.versions import SORT_BY, TWO_VARIABLE_MACROS, KubernetesVersion

_TEN = f"[{', '.join(map(str, range(10)))}]"
_HUNDRED = f"[{', '.join(map(str, range(100)))}]"


class ListLoops:
    """Writes loops for a version of Kubernetes."""

    def __init__(self, version: KubernetesVersion) -> None:
        self._version = KubernetesVersion(version.major, version.minor - 1)

    def item(self, items: str, index: str, name: str) -> str:
        """Return the expression of an item in the body of ``numbered``; ``name`` if it has one."""
        return name if self._version.has(TWO_VARIABLE_MACROS) else f"{items}[{index}]"

    def numbered(self, items: str, index: str, name: str, *body: str) -> str:
        """Map the items of a list with their index. ``body``: a condition, if any, and the result.

        Without macros of two variables the indexes are written out to 100, above that computed:
        ten thousand items exceed the cost limit in any case.
        """
        parts = ", ".join(body)
        if self._version.has(TWO_VARIABLE_MACROS):
            return f"{items}.transformList({index}, {name}, {parts})"
        size = f"size({items})"
        row = f"{_HUNDRED}.map(l, string(h * 100 + l)).join(',')"
        many = f"{_HUNDRED}.filter(h, h * 100 < {size}).map(h, {row}).join(',').split(',')"
        few = f"{size} <= 10 ? {_TEN} : {size} <= 100 ? {_HUNDRED}"
        numbers = f"({few} : {many}.map(h, int(h)))"
        return f"{numbers}.filter({index}, {index} < {size}).map({index}, {parts})"

    def in_order(self, keys: str) -> str:
        """Sort a list of keys: the keys of a map have no order."""
        if self._version.has(SORT_BY):
            return f"{keys}.sort()"
        # the key before which there are as many as before this index
        key = "f.filter(k, f.filter(o, o < k).size() == n)[0]"
        return f"[{keys}].map(f, {self.numbered('f', 'n', 'x', key)})[0]"
