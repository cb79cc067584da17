from collections.abc import Callable, Iterable
from typing import Any, Protocol, final

from policyd._core.match.matcher import Hit
from policyd._core.plan.mutated_tree import ChangeLog, MutatedTree
from policyd._core.plan.mutation import MutationPlan, MutationStep
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

def direct_matches(
    matches: list[tuple[Any, Hit]], at: int, again: bool, found: list[Any]
) -> int: ...

@final
class MutationOutcome:
    @property
    def again(self) -> bool: ...
    @property
    def passed_over(self) -> bool: ...
    @property
    def invoked(self) -> bool: ...
    @property
    def failures(self) -> list[str | Stopped] | None: ...
    @property
    def error(self) -> Exception | None: ...
    @property
    def before(self) -> Any: ...
    @property
    def after(self) -> Any: ...
    @property
    def steps(self) -> list[tuple[int, Any, Any, str]] | None: ...

@final
class MutationRun:
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
    def direct(self, found: list[Any], at: int) -> int: ...
    def invoke(
        self, invocation: MutationInvocation, view: TreeView, deadline: int
    ) -> MutationOutcome | None: ...
    @property
    def cut(self) -> int: ...
    @property
    def seen(self) -> dict[Any, Any]: ...
    @property
    def outcome(self) -> MutationOutcome | None: ...
