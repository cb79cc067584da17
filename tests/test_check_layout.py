"""The architecture check reports each breach of a contract, with its place and a remedy."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tools.check_layout.__main__ import main, problems
from tools.check_layout.commits import unchecked
from tools.check_layout.table import TableError, read_table

TABLE = """
[layers]
policyd = ["cli | server", "__init__", "engine", "core", "errors"]

[[forbidden]]
from = "policyd.server"
to = ["policyd.engine.inner"]
why = "it knows results only"

[third_party]
"policyd.cli" = ["click"]

[files]
lines = 400

[folders]
modules = 16
below = ["policyd"]
except = {}

[names]
except = { Twice = "an exception" }

[commits]
after = "0000000000000000000000000000000000000000"
length = 72
"""
# A tree that keeps every contract.
CLEAN = {
    "tools/layout.toml": TABLE,
    "policyd/__init__.py": "def __getattr__(name):\n    from policyd.engine.api import Api\n    return Api\n",
    "policyd/cli/__init__.py": 'from policyd import __version__\nCOMMANDS = {"run": "policyd.cli.run"}\n',
    "policyd/cli/run.py": "import click\nimport policyd.engine.api as api\n",
    "policyd/server/app.py": "from policyd.engine import api\n",
    "policyd/engine/__init__.py": "from policyd.engine.api import Api\n",
    "policyd/engine/api.py": "from ..core import values\n",
    "policyd/engine/inner.py": "import json\nimport policyd.core.values\n",
    "policyd/core/__init__.pxd": "",
    "policyd/core/values.pyx": (
        "cimport cython\nfrom policyd.core.text cimport f\nfrom policyd import errors\n"
    ),
    "policyd/core/values.pxd": "from libc.stdint cimport int64_t\nfrom policyd.core cimport text\n",
    "policyd/core/values.pyi": "from policyd.errors import Error\n",
    "policyd/core/text.pxd": "cdef int f() except -1\n",
    "policyd/core/text.pyx": "from cpython.object cimport PyObject\ncdef int f() except -1:\n    return 0\n",
    "policyd/errors.py": "class Error(Exception): ...\n",
    "policyd/server/one.py": "T = TypeVar('T')\nclass Twice: ...\nclass _Own: ...\nMAX = 1\n",
    "policyd/server/two.py": "T = TypeVar('T')\nclass Twice: ...\nclass _Own: ...\nMAX = 1\n",
}


def tree(root: Path, changes: Mapping[str, str]) -> Path:
    """The clean tree with some files in place of its own or beside them."""
    for path, content in {**CLEAN, **changes}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return root


def found(root: Path, changes: Mapping[str, str]) -> list[str]:
    return problems(tree(root, changes), read_table(root))


def test_a_clean_tree_has_no_problem(tmp_path: Path) -> None:
    assert found(tmp_path, {}) == []


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param(
            {
                "policyd/engine/a.py": "import typing\nif typing.TYPE_CHECKING:\n    from policyd.engine.b import B\n",
                "policyd/engine/b.py": "from policyd.engine import a\n",
            },
            "policyd/engine/a.py:3: policyd.engine.a -> policyd.engine.b -> policyd.engine.a is a cycle"
            " of imports (policyd/engine/a.py:3, policyd/engine/b.py:1); move ",
            id="for typing",
        ),
        pytest.param(
            {
                "policyd/engine/a.py": "def f():\n    from . import b\n",
                "policyd/engine/b.py": "from .c import C\n",
                "policyd/engine/c.py": "import policyd.engine.a\n",
            },
            "policyd/engine/a.py:2: policyd.engine.a -> policyd.engine.b -> policyd.engine.c -> policyd.engine.a is",
            id="in a function, through another module",
        ),
        pytest.param(
            {"policyd/core/text.pxd": "from policyd.core.values cimport Value\n"},
            "policyd/core/text.pxd:1: policyd.core.text -> policyd.core.values -> policyd.core.text is",
            id="cimport",
        ),
        pytest.param(
            {
                "policyd/core/text.pyx": "# cython: binding=True\n\ncimport policyd.core.values as v\n"
            },
            "policyd/core/text.pyx:3: policyd.core.text -> policyd.core.values -> policyd.core.text is",
            id="cimport of a module",
        ),
        pytest.param(
            {"policyd/core/text.pyx": "def f():\n    from . import values\n"},
            "policyd/core/text.pyx:2: policyd.core.text -> policyd.core.values -> policyd.core.text is",
            id="import in a function of Cython",
        ),
        pytest.param(
            {"policyd/core/text.pxd": "from . cimport values\n"},
            "policyd/core/text.pxd:1: policyd.core.text -> policyd.core.values -> policyd.core.text is",
            id="relative cimport",
        ),
        pytest.param(
            {"policyd/core/text.pyi": "from policyd.core.values import Value\n"},
            "policyd/core/text.pyi:1: policyd.core.text -> policyd.core.values -> policyd.core.text is",
            id="in a stub",
        ),
        pytest.param(
            {"policyd/engine/api.py": "from policyd.engine import Api\n"},
            "policyd/engine/__init__.py:1: policyd.engine -> policyd.engine.api -> policyd.engine is",
            id="through what a package re-exports",
        ),
    ],
)
def test_cycles(tmp_path: Path, changes: dict[str, str], want: str) -> None:
    assert [each for each in found(tmp_path, changes) if each.startswith(want)]


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        (
            {"policyd/errors.py": "from policyd.engine.inner import x\n"},
            "policyd/errors.py:1: policyd.errors imports policyd.engine.inner, but engine is above errors in"
            " the layers of policyd (tools/layout.toml); move ",
        ),
        (
            {"policyd/core/text.pyx": "\ncimport policyd.engine.api\n"},
            "policyd/core/text.pyx:2: policyd.core.text imports policyd.engine.api, but engine is above core",
        ),
        (
            {"policyd/cli/run.py": "import click\nfrom policyd.server import app\n"},
            "policyd/cli/run.py:2: policyd.cli.run imports policyd.server.app, but server stands beside cli",
        ),
        (
            {"policyd/core/text.pyx": "from policyd import __version__\n"},
            "policyd/core/text.pyx:1: policyd.core.text imports policyd, but __init__ is above core",
        ),
        (
            {"policyd/new.py": ""},
            "policyd/new.py:1: new has no place in the layers of policyd; add it to tools/layout.toml",
        ),
        (
            {"tools/layout.toml": TABLE.replace('"errors"]', '"errors", "gone"]')},
            "tools/layout.toml: the layers of policyd name gone, which is not there; delete it",
        ),
        (
            {"policyd/core/go/text.py": ""},
            "tools/layout.toml: policyd.core holds packages and has no row in [layers]; add one",
        ),
        (
            {"tools/layout.toml": TABLE.replace("[[", '"policyd.gone" = []\n[[')},
            "tools/layout.toml: [layers] has a row for policyd.gone, which is not there; delete it",
        ),
    ],
)
def test_layers(tmp_path: Path, changes: dict[str, str], want: str) -> None:
    assert [each for each in found(tmp_path, changes) if each.startswith(want)]


def test_the_star_takes_modules_and_no_packages(tmp_path: Path) -> None:
    """Modules of the star may import each other; the package's own ``__init__`` is above them."""
    changes = {
        "tools/layout.toml": TABLE.replace("[[", '"policyd.engine" = ["*", "inner"]\n[[', 1),
        "policyd/engine/other.py": "from policyd.engine.api import Api\n",
        "policyd/engine/inner.py": "from policyd.engine.other import x\n",
        "policyd/engine/package/module.py": "",
    }
    assert found(tmp_path, changes) == [
        "policyd/engine/package:1: package has no place in the layers of policyd.engine; add it to tools/layout.toml",
        "policyd/engine/inner.py:1: policyd.engine.inner imports policyd.engine.other, but other is above"
        " inner in the layers of policyd.engine (tools/layout.toml); move what it needs down, or pass it"
        " as an argument",
    ]


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        (
            {"policyd/cli/run.py": "import click\n\nclass Error(click.ClickException): ...\n"},
            "policyd/errors.py:1: Error is also defined at policyd/cli/run.py:3; name each after",
        ),
        (
            {"policyd/core/values.pyx": "cimport cython\ncdef class Error:\n    pass\n"},
            "policyd/errors.py:1: Error is also defined at policyd/core/values.pyx:2",
        ),
        (
            {
                "policyd/server/one.py": "Look = Callable[[int], str]\nclass Twice: ...\n",
                "policyd/cli/run.py": "import click\nLook = int | str\n",
            },
            "policyd/server/one.py:1: Look is also defined at policyd/cli/run.py:2",
        ),
        (
            {"policyd/server/one.py": ""},
            "tools/layout.toml: Twice is defined once; delete it from [names]",
        ),
    ],
    ids=["classes", "Cython", "aliases", "an exception that is not needed"],
)
def test_a_name_means_one_thing(tmp_path: Path, changes: dict[str, str], want: str) -> None:
    assert any(each.startswith(want) for each in found(tmp_path, changes))


def test_what_is_forbidden_through_others(tmp_path: Path) -> None:
    assert found(tmp_path, {"policyd/engine/api.py": "\n\nfrom policyd.engine import inner\n"}) == [
        "policyd/server/app.py:1: policyd.server.app -> policyd.engine.api -> policyd.engine.inner:"
        " policyd.server must not reach policyd.engine.inner (it knows results only); move what it needs"
        " out of policyd.engine.inner"
    ]


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        (
            {"policyd/core/text.pyx": "def f():\n    import yaml.nodes\n"},
            "policyd/core/text.pyx:2: policyd.core.text may not import yaml (no package may, by"
            " tools/layout.toml); use what those modules offer, or allow it in [third_party]",
        ),
        (
            {"policyd/core/text.pxd": "from numpy cimport ndarray\n"},
            "policyd/core/text.pxd:1: policyd.core.text may not import numpy",
        ),
        (
            {"policyd/server/app.py": "from click.core import Command\n"},
            "policyd/server/app.py:1: policyd.server.app may not import click (only policyd.cli may)",
        ),
        (
            {"policyd/errors.py": "import libc\n"},
            "policyd/errors.py:1: policyd.errors may not import libc",
        ),
        (
            {"policyd/cli/run.py": ""},
            "tools/layout.toml: policyd.cli does not import click; delete it from [third_party]",
        ),
    ],
)
def test_third_party(tmp_path: Path, changes: dict[str, str], want: str) -> None:
    assert [each for each in found(tmp_path, changes) if each.startswith(want)]


@pytest.mark.parametrize("path", ["policyd/core/text.pyx", "policyd/errors.py", "tests/test_x.py"])
def test_files_hold_one_idea(tmp_path: Path, path: str) -> None:
    assert found(tmp_path, {path: "\n" * 400}) == []
    assert found(tmp_path, {path: "\n" * 401}) == [
        f"{path}:401: the file has 401 lines; expected at most 400; give its second idea a file of its own"
    ]


def test_data_may_be_long(tmp_path: Path) -> None:
    assert found(tmp_path, {"policyd/core/table.json": "\n" * 401}) == []


def test_folders_stay_small(tmp_path: Path) -> None:
    """Stubs and headers count with their module, ``__init__`` not at all, folders outside neither."""
    full = {f"policyd/engine/m{i}.py": "" for i in range(13)}
    assert found(tmp_path, {**full, "policyd/engine/m.pyx": "", "policyd/engine/m.pyi": ""}) == []
    tests = {f"tests/test_{i}.py": "" for i in range(17)}
    want = (
        "policyd/engine: the folder holds 17 modules; expected at most 16; give those that belong together a"
        " package of their own"
    )
    assert found(tmp_path, {"policyd/engine/n.py": "", **tests}) == [want]


def test_an_exception_that_is_not_needed_is_reported(tmp_path: Path) -> None:
    table = TABLE.replace("except = {}", 'except = {"policyd/core" = "a reason"}')
    assert found(tmp_path, {"tools/layout.toml": table}) == [
        "tools/layout.toml: policyd/core holds 2 modules; delete it from [folders]"
    ]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The clean tree as a repository whose one commit has a subject of 80 characters."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    git(tree(tmp_path, {}), "init", "-q")
    commit(tmp_path, "a" * 80)
    return tmp_path


def git(root: Path, *arguments: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    return subprocess.run(
        ["git", "-C", str(root), *who, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(root: Path, subject: str) -> str:
    git(root, "commit", "-q", "--allow-empty", "--no-verify", "-m", subject)
    return git(root, "rev-parse", "HEAD")


def test_commit_subjects(checkout: Path) -> None:
    """Those after the fixed commit count; all of them where the history does not hold it."""
    table = TABLE.replace("0" * 40, git(checkout, "rev-parse", "HEAD"))
    commit(checkout, "b" * 71)
    assert found(checkout, {"tools/layout.toml": table}) == []
    long = commit(checkout, "c" * 72)
    (problem,) = found(checkout, {"tools/layout.toml": table})
    assert long.startswith(problem.split()[1].rstrip(":"))
    assert "the subject has 72 characters; expected fewer than 72" in problem
    assert len(found(checkout, {})) == 2


def test_a_tree_without_git_says_what_is_not_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tree(tmp_path, {}))]) == 0
    want = f"skipped the check of commit subjects: {tmp_path} is not a git checkout\n"
    assert capsys.readouterr().out == want


def test_without_the_program_git_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unchecked(tmp_path) == "git is not installed"


def test_a_repository_that_git_cannot_read_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    (tree(tmp_path, {}) / ".git").write_text("gitdir: nowhere\n")
    assert main([str(tmp_path)]) == 1
    assert "not a git repository" in capsys.readouterr().out


def test_problems_are_printed_and_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tree(tmp_path, {"policyd/new.py": ""}))]) == 1
    assert capsys.readouterr().out.startswith("policyd/new.py:1: new has no place")


@pytest.mark.parametrize(
    ("table", "want"),
    [
        (TABLE + "[wrong]\n", "unknown sections ['wrong']"),
        (TABLE.replace("lines = 400", ""), "KeyError: 'lines'"),
        (
            TABLE.replace('"core"', '"core", "core"'),
            "layers of policyd: ['core'] stand there twice",
        ),
        ("[layers", "TOMLDecodeError"),
    ],
)
def test_a_table_of_another_form(tmp_path: Path, table: str, want: str) -> None:
    with pytest.raises(TableError) as error:
        read_table(tree(tmp_path, {"tools/layout.toml": table}))
    assert want in str(error.value)
