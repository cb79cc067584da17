from collections.abc import Iterable
from typing import Any, Protocol, final

from policyd._core.counting.counters import PolicyCounters
from policyd._core.eval.program import Program
from policyd._core.plan.mutated_tree import MutatedTree
from policyd._core.plan.mutators import DirectMutator
from policyd._core.plan.overlay import BoundOverlay
from policyd._core.plan.plan import Frame, Plan, Subject
from policyd._core.values.read_trees import ReadTrees

@final
class MutationPlan(Plan):
    def __init__(
        self,
        conditions: Iterable[Program],
        frame: Frame,
        fail: bool,
        counters: PolicyCounters,
        programs: Iterable[Program],
    ) -> None: ...
    @property
    def programs(self) -> tuple[Program, ...]: ...

class _Mutator(Protocol):
    @property
    def direct(self) -> DirectMutator | None: ...
    def apply(
        self,
        value: object,
        obj: dict[str, Any],
        target: Any,
        sources: ReadTrees | None,
    ) -> dict[str, Any]: ...

class _Overlay(Protocol):
    def bound(self, target: Any) -> BoundOverlay: ...
    def converted(
        self, after: dict[str, Any], before: dict[str, Any], target: Any
    ) -> dict[str, Any]: ...

class MutationStep:
    def change(
        self,
        plan: MutationPlan,
        subject: Subject,
        params: Any,
        target: Any,
        deadline: int,
        tree: MutatedTree,
    ) -> dict[str, Any]: ...

@final
class ExpressionStep(MutationStep):
    def __init__(self, index: int, mutator: _Mutator) -> None: ...
    def apply(
        self,
        value: object,
        obj: dict[str, Any],
        target: Any,
        sources: ReadTrees | None,
        tree: MutatedTree,
    ) -> dict[str, Any]: ...

@final
class OverlayStep(MutationStep):
    def __init__(self, overlay: _Overlay) -> None: ...
    @property
    def overlay(self) -> _Overlay: ...
