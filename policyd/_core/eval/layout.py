"""The slots of a policy: one layout is shared by all of its expressions."""

from policyd._core.eval.program import PlannedVariable, Program
from policyd._core.eval.slots import Slots


class Layout(Slots):
    """Slots, and the programs of ``variables.x``.

    These, and the variables of macros, have slots without a name; each macro has its own, because
    a variable may be computed in the middle of another expression's loop.
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        super().__init__(names)
        self.variables: dict[str, PlannedVariable] = {}
        # Program.nesting of each variable.
        self.nesting: dict[str, int] = {}

    def define(self, name: str, program: Program, shared: str | None = None) -> None:
        """Define ``variables.name``. Expressions that are planned afterwards may use it. Variables
        of other policies with the same ``shared`` have the same value for the same request.
        """
        variable = self.variables.get(name)
        if variable is None:
            variable = self.variables[name] = PlannedVariable(name, self.take())
        variable.define(program, shared)
        self.nesting[name] = program.nesting
