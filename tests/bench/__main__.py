"""``python -m tests.bench``: every figure with its target, as one table. ``--core`` leaves out the
server.
"""

import sys

from tests.bench import core

SECTIONS = (
    ("bytes to bytes", core.reference),
    ("more policies", core.marginal),
    ("mutation", core.mutation),
    ("patch", core.patching),
)


def main() -> None:
    """Run every section and print its rows as soon as they are there."""
    for title, section in SECTIONS:
        print(f"\n{title}")
        for name, figure, target in section():
            print(f"  {name:<36} {figure:<58} target {target}")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
