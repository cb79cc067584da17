from collections.abc import Callable, Iterable
from typing import Any, Protocol, final

from policyd._core.match.matcher import Hit
from policyd._core.plan.mutated_tree import ChangeLog, MutatedTree
from policyd._core.plan.mutation import MutationPlan
from policyd._core.plan.mutation_steps import MutationStep
from policyd._core.plan.plan import Stopped, Subject

class _Lens(Protocol):
    def seen(self, tree: Any) -> Any: ...
    def changed(self, tree: Any, seen: Any, after: Any) -> Any: ...

@final
class TreeView:
    def __init__(
        self, first: Subject, matched: Any, target: Any, lens: _Lens | None, mismatch: str
    ) -> None: ...

@final
class MutationInvocation:
    def __init__(
        self,
        plan: MutationPlan,
        steps: Iterable[MutationStep],
        params: Any,
        key: Any,
        reinvoke: bool,
        held: bool = False,
    ) -> None: ...

def direct_matches(matches: list[tuple[Any, Hit]], at: int, again: bool, found: list[Any]) -> int:
    """Add the matches of direct policies from ``at`` on to ``found``, ``again``: only of those that
    have a part in the second round. Return the index of the first other match; the number of
    matches if there is none.
    """

@final
class MutationOutcome:
    again: bool
    passed_over: bool
    invoked: bool
    failures: list[str | Stopped] | None
    error: Exception | None
    before: Any
    after: Any
    steps: list[tuple[int, Any, Any, str]] | None

@final
class MutationRun:
    cut: int
    seen: dict[Any, Any]
    outcome: MutationOutcome | None
    def __init__(
        self,
        tree: MutatedTree,
        log: ChangeLog,
        view_of: Callable[[Hit, bool], TreeView],
        patch_operations: Callable[[str, int], None],
        cut: int,
        saw: dict[Any, Any] | None,
        watched: bool,
    ) -> None: ...
    def direct(self, found: list[Any], at: int) -> int:
        """Invoke the direct policies from ``at`` on. Return the index of the first that is no match
        of a direct policy (a plain tuple), or whose ``outcome`` the caller has to settle; their
        number if there is none.
        """

    def invoke(
        self, invocation: MutationInvocation, view: TreeView, deadline: int
    ) -> MutationOutcome | None:
        """Invoke one policy. None: it would change nothing, because it saw the same tree before."""
