from collections.abc import Callable
from typing import Any, final

from policyd._core.match.matcher import Hit
from policyd._core.plan.plan import Subject
from policyd._core.plan.validation import ValidationOutcome

@final
class SimplePolicies:
    at: int
    outcome: ValidationOutcome | None
    error: Exception | None
    deadline: int
    def __init__(
        self,
        matches: list[tuple[Any, Hit]],
        subject_of: Callable[[Hit, bool], Subject],
        deadline: int,
    ) -> None: ...
    def run(self, at: int) -> bool:
        """Evaluate the policies from ``at`` on, up to the first that does not plainly admit the
        request; return whether there is none. Its index is ``self.at``, its outcome or error
        is kept; it has neither if it is not simple (``CompiledPolicy.simple``).
        """
