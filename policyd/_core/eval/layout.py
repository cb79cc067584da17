"""The slots of a policy: one layout is shared by all of its expressions."""

from policyd._core.eval.program import PlannedVariable, Program
from policyd._core.eval.slots import Slots


class Layout(Slots):
    """Slots and the programs of ``variables.x``.

    Their slots and the slots of macro variables have no names. Each macro has its own slots,
    because a variable may be computed in the middle of another expression's loop.
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        super().__init__(names)
        self.variables: dict[str, PlannedVariable] = {}
        # Program.nesting of each variable.
        self.nesting: dict[str, int] = {}

    def define(self, name: str, program: Program, shared: str | None = None) -> None:
        """Define ``variables.name`` for expressions that are planned later. For one request, it has
        the same value as the variables of other policies with the same ``shared``.
        """
        variable = self.variables.get(name)
        if variable is None:
            variable = self.variables[name] = PlannedVariable(name, self.take())
        variable.define(program, shared)
        self.nesting[name] = program.nesting
