"""Slot numbers: where an activation holds each variable."""


class Slots:
    """Assigns slots while expressions are planned; ``size`` is the number that an activation needs.

    ``slots`` are the variables that the evaluation sets, by name; ``used`` are the names that an
    expression uses (``variables`` for any variable of the policy).
    """

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self.slots = {name: number for number, name in enumerate(names)}
        self.size = len(self.slots)
        self.used: set[str] = set()

    def take(self) -> int:
        """A new slot."""
        self.size += 1
        return self.size - 1

    def slot(self, name: str) -> int:
        """The slot of a variable that the evaluation sets."""
        self.used.add(name)
        if name not in self.slots:
            self.slots[name] = self.take()
        return self.slots[name]
