"""``python -m tools.bench [SECTION]…``: every figure with its target, as one table."""

import sys

from tests.kubernetes import Unavailable
from tools.bench import (
    around,
    connections,
    core,
    crowd,
    curves,
    expressions,
    hostile,
    image,
    load,
    memory,
    objects,
    patterns,
    pauses,
    placements,
    products,
    reports,
    server,
    start,
)

SECTIONS = {
    "expressions": expressions.expressions,
    "core": core.reference,
    "restricted": core.restricted,
    "policies": core.marginal,
    "mutation": core.mutation,
    "patch": core.patching,
    "patterns": patterns.patterns,
    "hostile": hostile.hostile,
    "service": server.service,
    "start": start.start,
    "crowd": crowd.crowd,
    "lint": curves.lint,
    "manifests": curves.manifests,
    "around": around.around,
    "objects": objects.objects,
    "memory": memory.memory,
    "connections": connections.connections,
    "latency": load.latency,
    "workers": load.workers,
    "pauses": pauses.pauses,
    "placements": placements.placements,
    "reports": reports.reports,
    "image": image.image,
    "products": products.products,
}


def main(names: list[str]) -> None:
    """Run the sections named (all if none is) and print their rows as soon as they are there."""
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise SystemExit(f"no section {', '.join(unknown)}: choose from {', '.join(SECTIONS)}")
    for name in names or SECTIONS:
        print(f"\n{name}")
        try:
            for what, figure, target in SECTIONS[name]():
                print(f"  {what:<42} {figure:<58} target {target}", flush=True)
        except Unavailable as reason:
            print(f"  not measured: {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
