"""Slot numbers: where an activation holds each variable. One layout is shared by
the expressions of a policy.
"""

from policyd._core.eval.program import Program, Variable


class Layout:
    """Gives out slots while expressions are planned; ``size`` is what an activation must hold.

    ``slots`` are the variables that the evaluation sets, by name; ``used`` those that an expression
    names. ``variables.x`` and the variables
    of macros have slots without a name; each macro has its own, because a variable may be computed
    in the middle of another expression's loop.
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.slots = {name: number for number, name in enumerate(names)}
        self.size = len(self.slots)
        self.variables: dict[str, Variable] = {}
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

    def define(self, name: str, program: Program) -> None:
        """What ``variables.name`` is. Expressions planned after this may use it."""
        variable = self.variables.get(name)
        if variable is None:
            variable = self.variables[name] = Variable(name, self.take())
        variable.define(program)
