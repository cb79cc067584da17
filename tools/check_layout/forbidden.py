"""Contract: what a package may not reach, directly or through other modules."""

from collections.abc import Iterator, Sequence

from tools.check_layout.cycles import graph_of
from tools.check_layout.imports import PACKAGE, Import, is_below
from tools.check_layout.table import PLACE, Forbidden


def problems(rows: Sequence[Forbidden], imports: Sequence[Import]) -> Iterator[str]:
    """One message for each forbidden pair that a chain of imports connects.

    Chains through ``policyd/__init__.py`` are ignored, because it imports the Python API lazily: a
    module that imports the version does not reach the API.
    """
    arrows = {
        (each.importer, each.imported): each
        for each in reversed(imports)
        if each.inside and PACKAGE not in (each.importer, each.imported)
    }
    graph = graph_of(sorted(arrows))
    for row in rows:
        for target in row.targets:
            known = [
                any(is_below(module, name) for module in graph.modules)
                for name in (row.source, target)
            ]
            if not all(known):
                yield f"{PLACE}: [[forbidden]] {row.source}, {target}: not there; correct the row"
                continue
            chains = (
                graph.find_shortest_chain(importer=source, imported=module)
                for source in sorted(graph.modules)
                for module in sorted(graph.modules)
                if is_below(source, row.source) and is_below(module, target)
            )
            chain = min((each for each in chains if each), key=len, default=None)
            if chain is not None:
                first = arrows[chain[0], chain[1]]
                yield (
                    f"{first.place}: {' -> '.join(chain)}: {row.source} must not reach {target}"
                    f" ({row.why}); move what it needs out of {target}"
                )
