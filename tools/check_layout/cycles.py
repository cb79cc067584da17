"""Contract: no two modules import each other, directly or through others."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from grimp import ImportGraph

from tools.check_layout.imports import Import

Arrow = tuple[str, str]


def problems(imports: Sequence[Import]) -> Iterator[str]:
    """One message for each cycle, shortest first; no import is named twice."""
    arrows: dict[Arrow, Import] = {}
    for each in imports:
        if each.inside:
            arrows.setdefault((each.importer, each.imported), each)
    for cycle in disjoint_cycles(sorted(arrows)):
        steps = [arrows[arrow] for arrow in cycle]
        names = " -> ".join([cycle[0][0], *(imported for _, imported in cycle)])
        yield (
            f"{steps[0].place}: {names} is a cycle of imports"
            f" ({', '.join(each.place for each in steps)});"
            " move what both need into a module below, or pass it as an argument"
        )


def disjoint_cycles(arrows: Sequence[Arrow]) -> Iterator[Sequence[Arrow]]:
    """Cycles without common imports that together break all cycles, shortest first."""
    graph = graph_of(arrows)
    left = [(a, b) for a, b in arrows if graph.chain_exists(importer=b, imported=a)]
    while left:
        shortest: Sequence[str] = ()
        for importer, imported in left:
            back = graph.find_shortest_chain(importer=imported, imported=importer)
            if back is not None and (not shortest or len(back) < len(shortest)):
                shortest = back
        if not shortest:
            return
        start = shortest.index(min(shortest))
        ring = [*shortest[start:], *shortest[: start + 1]]
        cycle = list(pairwise(ring))
        yield cycle
        for importer, imported in cycle:
            graph.remove_import(importer=importer, imported=imported)
        left = [arrow for arrow in left if arrow not in cycle]


def graph_of(arrows: Sequence[Arrow]) -> ImportGraph:
    graph = ImportGraph()
    for importer, imported in arrows:
        graph.add_import(importer=importer, imported=imported)
    return graph
