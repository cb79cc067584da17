"""What reading the sources of one set may cost: bytes, documents, nodes, characters, depth, time.

Charged while sources are read and before their values are built, so that a small text cannot become
a large one. Nodes are names of fields, values, lists and objects; each alias counts as a copy.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from time import thread_time
from typing import NoReturn

from policyd.policy.source.background_pace import full_speed

TOO_LARGE = "too-large"  # the rule of sources above a limit
# Levels of lists and objects, the same as in reviews.
MAX_DEPTH = 1000
# Nodes between two looks at the clock: about a millisecond of work.
SLICE = 1_000


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """The limits of one set of sources.

    ``size``: bytes of all files, decompressed, and characters of all scalars. ``documents``: also
    each item of a List. ``document``: nodes of one YAML document, each of which takes 300 bytes
    until it is read. ``aliases``: whether YAML may have any.
    """

    size: int
    documents: int
    nodes: int
    document: int = 2_000_000
    aliases: bool = True


# The largest sane set has 10,000 policies, each with a binding and a suite. The largest ones of the
# policy library have 150 and 710 nodes, and 3 and 20 KB. One document must fit a small Pod.
POLICIES = SourceLimits(size=256 * 2**20, documents=100_000, nodes=10_000_000, document=500_000)
# Manifests: a List of some thousand Pods is one document.
OBJECTS = replace(POLICIES, document=2_000_000)
# A file that a case of a suite names, which each case reads again. Objects have at most 3 MiB.
FIXTURE = SourceLimits(size=16 * 2**20, documents=10_000, nodes=500_000)


class OverBudget(Exception):
    """The sources exceed a limit; ``line`` and ``column`` are positions in their text, from 1, or
    0.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint
        self.line = self.column = 0


@dataclass(eq=False, repr=False)
class SourceBudget:
    """The budget that is left for one set of sources. All methods raise OverBudget above a limit.

    ``seconds`` are of processor time of the thread: a busy machine must not refuse what an idle one
    accepts. Without them only the other limits end the work, which is linear in what they count: a
    slow machine starts late rather than never. ``breathe`` is called at least once each SLICE of
    nodes; it may pause, or raise to end the work.
    """

    limits: SourceLimits = OBJECTS
    seconds: float = inf
    clock: Callable[[], float] = thread_time

    def __post_init__(self) -> None:
        self.breathe: Callable[[], None] = full_speed
        self.exceeded = False
        # The documents of a set have the same few names: one string for each is enough.
        self.names: dict[str, str] = {}
        self.size = self.documents = self.nodes = self.characters = 0
        self._end = self.clock() + self.seconds

    @property
    def nodes_left(self) -> int:
        """Nodes that may still be read."""
        return self.limits.nodes - self.nodes

    def add_file(self, size: int) -> None:
        """Charge the bytes of a file, before it is decoded."""
        self.size += size
        if self.size > self.limits.size:
            self.refuse(f"more than {bytes_text(self.limits.size)}", "remove or split files")
        self.look()

    def add_document(self) -> None:
        """Charge a document or an item of a List."""
        self.documents += 1
        if self.documents > self.limits.documents:
            self.refuse(f"more than {self.limits.documents:,} documents", "remove some")

    def add_nodes(self, nodes: int, characters: int = 0) -> None:
        """Charge nodes, and the characters of the scalars among them."""
        self.nodes += nodes
        self.characters += characters
        if self.nodes > self.limits.nodes:
            self.refuse_nodes()
        if self.characters > self.limits.size:
            size = bytes_text(self.limits.size)
            self.refuse(f"more than {size} of values", "remove some; an alias counts as a copy")
        self.look()

    def refuse_nodes(self) -> NoReturn:
        """Raise the error of too many nodes."""
        what = f"more than {self.limits.nodes:,} nodes (names, values, lists and objects)"
        self.refuse(what, "remove some; an alias counts as a copy")

    def look(self) -> None:
        """Look at the clock, and let others work."""
        if self.seconds < inf and self.clock() > self._end:
            self.refuse(f"reading them takes more than {self.seconds:g} s", "remove some")
        self.breathe()

    def refuse(self, what: str, hint: str) -> NoReturn:
        """Raise the error of an exceeded limit."""
        self.exceeded = True
        raise OverBudget(f"the sources are too large together: {what}", hint)


def bytes_text(size: int) -> str:
    """Return a limit as people read it."""
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"
