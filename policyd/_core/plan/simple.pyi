from collections.abc import Callable
from typing import Any, final

from policyd._core.match.matcher import Hit
from policyd._core.plan.plan import Subject
from policyd._core.plan.validation import ValidationOutcome

@final
class SimplePolicies:
    at: int
    outcome: ValidationOutcome | None
    def __init__(
        self,
        matches: list[tuple[Any, Hit]],
        subject_of: Callable[[Hit, bool], Subject],
        deadline: int,
    ) -> None: ...
    def run(self, at: int) -> int:
        """Evaluate the policies from ``at`` on. Return the index of the first that does not plainly
        admit the request, their number if all do. ``outcome`` is that policy's, None if it is not
        simple (``CompiledPolicy.simple``). An exception is that of the policy at ``self.at``.
        """
