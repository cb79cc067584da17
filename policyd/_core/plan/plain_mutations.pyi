from collections.abc import Callable, Iterable
from typing import Any, final

from policyd._core.match.matcher import Hit
from policyd._core.plan.mutated_tree import ChangeLog, MutatedTree
from policyd._core.plan.mutation import MutationPlan
from policyd._core.plan.mutation_steps import MutationStep
from policyd._core.plan.plan import Stopped, Subject

@final
class PlainMutation:
    def __init__(
        self, plan: MutationPlan, steps: Iterable[MutationStep], params: Any, reinvoke: bool
    ) -> None: ...

@final
class PlainMutations:
    at: int
    policy: Any
    before: Any
    failures: list[str | Stopped] | None
    invoked: bool
    reinvoked: list[tuple[Any, Any]]
    def __init__(
        self,
        matches: list[Any],
        tree: MutatedTree,
        log: ChangeLog,
        subject_of: Callable[[Hit, bool], Subject],
        target_of: Callable[[tuple[str, str, str]], Any],
        noted: Callable[[Any, Any, Any], None],
        patch_operations: Callable[[str, int], None],
        deadline: int,
    ) -> None: ...
    def run(self, at: int) -> int:
        """Invoke the policies from ``at`` on. Return the index of the first that is no plain match
        (a plain tuple) or that has ``failures``; their number if there is none. What the policy
        with failures changed is not noted yet. An exception is that of the policy at ``self.at``.
        """

def recheck(
    matches: list[tuple[Any, Hit]],
    at: int,
    subject_of: Callable[[Hit, bool], Subject],
    deadline: int,
    failures: list[tuple[Any, Any]],
) -> int:
    """Evaluate the matchConditions of plain policies from ``at`` on, where an error of them counts;
    add (policy, error) to ``failures``. Return the index of the first match that is not plain, or
    whose evaluation raised something; their number if there is none.
    """
