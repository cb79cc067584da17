"""Slot numbers: where an activation holds each variable. All expressions of a policy share them."""

from policyd._core.eval.program import PlannedVariable, Program


class Slots:
    """Gives out slots while expressions are planned; ``size`` is what an activation must hold.

    ``slots`` are the variables that the evaluation sets, by name; ``used`` those that an expression
    names (``variables`` if it uses one of the policy).
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.slots = {name: number for number, name in enumerate(names)}
        self.size = len(self.slots)
        self.used: set[str] = set()

    def take(self) -> int:
        """One more slot."""
        self.size += 1
        return self.size - 1

    def slot(self, name: str) -> int:
        """The slot of a variable that the evaluation sets."""
        self.used.add(name)
        if name not in self.slots:
            self.slots[name] = self.take()
        return self.slots[name]


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
