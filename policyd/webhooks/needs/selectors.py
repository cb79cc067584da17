"""Label selectors as sets of values for each label, to compare, unite and intersect them.

hull([selection({"matchLabels": {"a": "1"}}), selection({"matchLabels": {"a": "2"}})])
# a in (1, 2): the smallest selector that selects what either selects
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from policyd.json_types import JSONObject


@dataclass(frozen=True, slots=True)
class Allowed:
    """The values that a label may have: ``values``, or with ``others`` all values but these.

    ``absent``: the label may be missing.
    """

    values: frozenset[str] = frozenset()
    others: bool = True
    absent: bool = True

    @property
    def everything(self) -> bool:
        """Whether the label does not matter."""
        return self.others and self.absent and not self.values

    @property
    def nothing(self) -> bool:
        """Whether no labels are selected."""
        return not (self.others or self.absent or self.values)

    def __invert__(self) -> "Allowed":
        return Allowed(self.values, not self.others, not self.absent)

    def __or__(self, other: "Allowed") -> "Allowed":
        absent = self.absent or other.absent
        if self.others and other.others:
            return Allowed(self.values & other.values, True, absent)
        if self.others:
            return Allowed(self.values - other.values, True, absent)
        if other.others:
            return Allowed(other.values - self.values, True, absent)
        return Allowed(self.values | other.values, False, absent)

    def __and__(self, other: "Allowed") -> "Allowed":
        return ~(~self | ~other)

    def __le__(self, other: "Allowed") -> bool:
        return self | other == other


ALL = Allowed()
LabelSelection = Mapping[str, Allowed]  # by label; a label that is not named does not matter


def selection(selector: JSONObject | None) -> LabelSelection:
    """Return the selection of a LabelSelector."""
    found: dict[str, Allowed] = {}
    given = selector or {}
    for key, value in (given.get("matchLabels") or {}).items():
        found[key] = found.get(key, ALL) & Allowed(frozenset({value}), False, False)
    for each in given.get("matchExpressions") or ():
        key, values = each.get("key", ""), frozenset(each.get("values") or ())
        allowed = {
            "In": Allowed(values, False, False),
            "NotIn": Allowed(values, True, True),
            "Exists": Allowed(frozenset(), True, False),
            "DoesNotExist": Allowed(frozenset(), False, True),
        }.get(each.get("operator", ""), ALL)
        found[key] = found.get(key, ALL) & allowed
    return {key: allowed for key, allowed in found.items() if not allowed.everything}


def both(left: LabelSelection, right: LabelSelection) -> LabelSelection:
    """Return the intersection of two selections."""
    return {key: left.get(key, ALL) & right.get(key, ALL) for key in {**left, **right}}


def hull(selections: Sequence[LabelSelection]) -> LabelSelection:
    """Return the smallest selection that includes all and that a selector can express."""
    if not selections:
        return {}
    found: dict[str, Allowed] = {}
    for key in selections[0]:
        allowed = selections[0][key]
        for each in selections[1:]:
            allowed |= each.get(key, ALL)
        # One selector cannot say "one of these values, or missing".
        if not allowed.everything and not (
            allowed.values and allowed.absent and not allowed.others
        ):
            found[key] = allowed
    return found


def within(inner: LabelSelection, outer: LabelSelection) -> bool:
    """Whether ``outer`` selects everything that ``inner`` selects."""
    if any(allowed.nothing for allowed in inner.values()):
        return True
    return all(inner.get(key, ALL) <= allowed for key, allowed in outer.items())


def selector(selected: LabelSelection) -> JSONObject:
    """Return a selection as a LabelSelector, sorted; it must be a hull."""
    labels: dict[str, str] = {}
    expressions: list[JSONObject] = []
    for key, allowed in sorted(selected.items()):
        if len(allowed.values) == 1 and not allowed.others and not allowed.absent:
            labels[key] = next(iter(allowed.values))
        else:
            expressions += _expressions(key, allowed)
    found: JSONObject = {"matchLabels": labels} if labels else {}
    return found | ({"matchExpressions": expressions} if expressions else {})


def _expressions(key: str, allowed: Allowed) -> Iterable[JSONObject]:
    values = sorted(allowed.values)
    if allowed.nothing or not allowed.others:
        if values:
            yield {"key": key, "operator": "In", "values": values}
            return
        if allowed.nothing:
            yield {"key": key, "operator": "Exists"}
        yield {"key": key, "operator": "DoesNotExist"}
        return
    if not allowed.absent:
        yield {"key": key, "operator": "Exists"}
    if values:
        yield {"key": key, "operator": "NotIn", "values": values}
