"""Slot numbers: where an activation holds each variable."""


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
