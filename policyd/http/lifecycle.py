"""The state of the server: whether it listens (for probes) and whether it drains (for answers)."""

from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Lifecycle:
    """Two flags that are set once and never cleared; ``server/composition.py`` sets them."""

    listening: bool = False  # both ports are open: the server may become ready
    draining: bool = False  # the server stops: answers close their connections
