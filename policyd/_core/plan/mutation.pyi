from collections.abc import Iterable
from typing import final

from policyd._core.counting.counters import PolicyCounters
from policyd._core.eval.program import Program
from policyd._core.plan.plan import Frame, Plan

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
