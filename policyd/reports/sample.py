"""Selects the findings of a summary if there are too many: some of each policy, namespace and
result. Otherwise the first namespace with thousands of violations would fill the summary.
"""

from policyd.reports.summary import ReportedFinding

_Group = tuple[str, str, str]


class FindingSample:
    """Up to ``most`` findings, in the order in which they are added. Each group has an equal share
    for its first findings; larger groups get the rest of smaller ones.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._groups: dict[_Group, list[tuple[int, ReportedFinding]]] = {}
        self._added = 0
        self._kept = 0

    def add(self, finding: ReportedFinding) -> None:
        """Add a finding, which may replace one of a larger group."""
        self._added += 1
        key = (finding.policy, finding.namespace, finding.result)
        group = self._groups.get(key, [])
        if self._kept == self._most:
            if len(group) >= max(1, self._most // len(self._groups)):
                return
            largest = max(self._groups.values(), key=len)
            if len(largest) <= len(group) + 1:
                return
            largest.pop()
            self._kept -= 1
        self._groups[key] = group
        group.append((self._added, finding))
        self._kept += 1

    @property
    def findings(self) -> list[ReportedFinding]:
        """The kept findings."""
        kept = [each for group in self._groups.values() for each in group]
        return [finding for _, finding in sorted(kept, key=lambda each: each[0])]

    @property
    def more(self) -> int:
        """The number of omitted findings."""
        return self._added - self._kept
