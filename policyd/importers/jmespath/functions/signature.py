"""What makes CEL of a call. Only a type."""

from collections.abc import Callable, Sequence

from policyd.importers.jmespath.alternatives import CelTerm

# Of the arguments, and of the variables of macros around the call.
Function = Callable[[Sequence[CelTerm], frozenset[str]], CelTerm]
