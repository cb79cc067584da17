"""Cycles of a call graph."""

from collections.abc import Collection, Mapping


def cycles(calls: Mapping[str, Collection[str]]) -> list[frozenset[str]]:
    """Return the strongly connected parts with a cycle (Tarjan's algorithm, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    waiting: set[str] = set()
    found = []
    for root in sorted(calls):
        work = [] if root in order else [(root, iter(sorted(calls[root])))]
        if work:
            order[root] = low[root] = len(order)
            stack.append(root)
            waiting.add(root)
        while work:
            node, rest = work[-1]
            for each in rest:
                if each not in order:
                    order[each] = low[each] = len(order)
                    stack.append(each)
                    waiting.add(each)
                    work.append((each, iter(sorted(calls.get(each, ())))))
                    break
                if each in waiting:
                    low[node] = min(low[node], order[each])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    group = set()
                    while node not in group:
                        group.add(stack.pop())
                    waiting -= group
                    if len(group) > 1 or node in calls.get(node, ()):
                        found.append(frozenset(group))
    return found
