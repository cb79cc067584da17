"""The checks of what files say: starred literals, and names of files."""

from pathlib import Path

import pytest

from tools.check_layout import references, starred


def written(root: Path, path: str, content: str) -> Path:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(content)
    return root


@pytest.mark.parametrize(
    ("path", "content", "lines"),
    [
        ("tests/a.py", 'A = (\n    *("a", "b"),\n    *["c"],\n)\nf(*{1})\n', [2, 3, 5]),
        ("tests/a.py", "A = (*(each for each in B), *[each for each in B], *C, *f())\n", []),
        ("policyd/a.pyx", 'A = (\n    *("a", "b"),\n    *[1, 2],\n)\nf(*("c",))\n', [2, 3, 5]),
        (
            "policyd/a.pyx",
            'A = (\n    *[\n        f(x)\n        for x in B\n    ],\n)\nB = "*(\'a"\n',
            [],
        ),
    ],
)
def test_starred_literals(tmp_path: Path, path: str, content: str, lines: list[int]) -> None:
    found = list(starred.problems(written(tmp_path, path, content)))
    assert found == [f"{path}:{line}: a starred literal; write its items plainly" for line in lines]


@pytest.mark.parametrize(
    ("path", "content", "lines"),
    [
        ("policyd/a.py", '"""See ``policyd/a.py``,\n``gone.py`` and NAME.py."""\n', [2]),
        ("policyd/a.py", 'A = "gone.py"  # gone/a.py\n', [1]),
        (
            "policyd/a.pyx",
            '"""See ``a.pyx``."""\n# lost.pxd\ncdef f():\n    """lost.pyx"""\n',
            [2, 4],
        ),
        ("docs/a.md", "`a.py`\n\n`b/a.py`, `*.py`, https://x/y.python\n", [1, 3]),
        ("build.md", "`gone.py`\n", []),
    ],
)
def test_names_of_files(tmp_path: Path, path: str, content: str, lines: list[int]) -> None:
    found = list(references.problems(written(tmp_path, path, content)))
    assert [each.rsplit(": ", 1)[0] for each in found] == [f"{path}:{line}" for line in lines]
