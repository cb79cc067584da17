"""``python -m tools.stubs``: what a .pyx says in ``#:`` becomes its stub."""

from pathlib import Path

import pytest

from tools.stubs.__main__ import pyi
from tools.stubs.reading import Unclear

SOURCE = '''
from policyd.a import (  # exported
    Kind,
)

#: _T = TypeVar("_T")


@cython.final
cdef class Box(base.Held):
    #: (Held, Generic[_T])
    #: kinds: tuple[Kind, ...]
    def __init__(self, str name not None, *, size=0, kinds=(1, 2)):
        #: (str, int, tuple[Kind,
        #: ...]) -> None
        """Not in the stub."""

    @property
    def first(self):
        #: () -> Kind
        return self.kinds[0]

    def __repr__(self):
        return ""

    cdef int inner(self) except -1:
        return 0


cdef class Lid:
    cdef readonly str label
    cdef bint loose


cdef class _Hidden:
    pass
'''
HEADER = """
cdef class Box(base.Held):
    cdef readonly tuple kinds  # of the box
    cdef readonly Py_ssize_t size, weight
    cdef public bint open
    cdef object hidden
"""
STUB = """
from typing import TypeVar
from typing import final
from policyd.a import Kind
from typing import Generic
_T = TypeVar("_T")
@final
class Box(Held, Generic[_T]):
    def __init__(self, name: str, *, size: int = 0, kinds: tuple[Kind, ...] = ...) -> None: ...
    @property
    def first(self) -> Kind: ...
    @property
    def kinds(self) -> tuple[Kind, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def weight(self) -> int: ...
    open: bool
class Lid:
    @property
    def label(self) -> str: ...
"""


def written(folder: Path, source: str) -> str | None:
    (folder / "box.pyx").write_text(source)
    (folder / "box.pxd").write_text(HEADER)
    return pyi(folder / "box.pyx")


def test_a_stub_has_the_types_of_both_files(tmp_path: Path) -> None:
    found = written(tmp_path, SOURCE)
    assert found is not None
    lines, wanted = found.splitlines(), STUB.strip().splitlines()
    assert sorted(lines[:4]) == sorted(wanted[:4])
    assert lines[4:] == wanted[4:]


def test_a_module_without_types_has_no_stub(tmp_path: Path) -> None:
    assert written(tmp_path, "cdef class Box:\n    pass\n") is None


@pytest.mark.parametrize(
    ("types", "reason"),
    [
        ("(int) -> str", "sizes: no type of limit"),
        ("(int, int, int) -> str", "sizes: types of arguments that it does not have"),
        ("", "sizes has no types"),
    ],
)
def test_types_that_do_not_fit_are_refused(types: str, reason: str, tmp_path: Path) -> None:
    comment = f"    #: {types}\n" if types else ""
    source = f"#: A: int\ndef sizes(list items, int limit):\n{comment}    return 1\n"
    with pytest.raises(Unclear, match=reason):
        written(tmp_path, source)
