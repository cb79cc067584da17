from collections.abc import Iterable

def parse(pointer: str) -> tuple[str, ...]:
    """The reference tokens of a JSON pointer: ``/a/b~1c`` is ``("a", "b/c")``.

    Raises PatchError if the string is not a pointer.
    """

def join(path: Iterable[str | int]) -> str:
    """The pointer of keys and indexes: ``("a", 0, "b/c")`` is ``/a/0/b~1c``."""
