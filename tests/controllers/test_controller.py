"""What all controllers have in common."""

from importlib import import_module

from policyd.controllers.controller import Changes, Controller, LookingController, Wakening


def test_each_controller_has_a_name_of_its_own() -> None:
    """Loops and defects are noted by name: two of one name would be one."""
    import_module("policyd.server.cluster.cluster_controllers")  # which imports all of them
    made = [*Controller.__subclasses__(), *LookingController.__subclasses__()]
    names = [each.name for each in made if each is not LookingController]
    assert len(names) >= 9 and all(names)
    assert len(set(names)) == len(names)


def test_a_change_reaches_all_who_listen() -> None:
    heard: list[str] = []

    class Noted(Wakening):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        def __call__(self) -> None:
            heard.append(self.name)

    changes = Changes()
    changes()
    changes.listeners += [Noted("a"), Noted("b")]
    changes()
    assert heard == ["a", "b"]
