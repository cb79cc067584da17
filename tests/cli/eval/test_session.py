"""``policyd eval`` without an expression: answers, completion, and a real terminal."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from policyd.cli.eval.repl import completions, is_open, read
from policyd.cli.eval.session import COMMANDS, Session
from tests.cli.terminal import Interactive, run
from tests.shared import ROOT

OBJECT = {"spec": {"containers": [{"name": "a", "image": "i:1"}], "replicas": 2, "a-b": 1}}


@pytest.fixture
def session() -> Session:
    return Session({"object": OBJECT})


def answer(session: Session, line: str) -> list[str]:
    return click.unstyle("\n".join(session.answer(line))).split("\n")


ANSWERS = [
    ("1 + 2", ["3", "int, cost 1"]),
    ("object.spec.replicas", ["2", "int, cost 3"]),
    ("  ", [""]),
    ("'\udcff'.find('.')", ['"\ufffd"', "string, cost 1"]),
    (
        "object.spec.x > 2 || false",
        [
            "error: no such key: x",
            " | object.spec.x > 2 || false",
            " | ...........^",
            "  hint: the keys are a-b, containers, replicas",
        ],
    ),
    (
        "object.spec.containers.all(c, c.z == 1)",
        [
            "error: no such key: z",
            " | object.spec.containers.all(c, c.z == 1)",
            " | ...............................^",
            "  hint: the keys are image, name",
        ],
    ),
    (
        "len(object)",
        [
            "error: 1:4: undeclared reference to 'len' (in container '')",
            " | len(object)",
            " | ...^",
            "  hint: write size(object)",
        ],
    ),
    (":type size(object)", ["int"]),
    (":cost object.spec.replicas", ["cost 3, estimated 3 for data of this size"]),
    (
        ":trace object.spec.replicas > 1 && false",
        [
            "false",
            "  object.spec.replicas > 1 = true",
            "    object.spec.replicas = 2",
            "> false = false",
        ],
    ),
    (":let x == 1", ["error: expected :let NAME = EXPRESSION"]),
    (":load", ["error: expected :load FILE [NAME]"]),
    (":load /nowhere", ["error: /nowhere: No such file or directory"]),
    (":what", ["error: unknown command :what; :help lists the commands"]),
]


@pytest.mark.parametrize(("line", "want"), ANSWERS)
def test_answer_to_a_line(session: Session, line: str, want: list[str]) -> None:
    assert answer(session, line) == want


def test_values_that_are_kept_have_their_type(session: Session) -> None:
    assert answer(session, ":let y = quantity('1Gi')") == ['y = "1Gi"']
    assert answer(session, "y.asInteger()")[0] == "1073741824"
    assert answer(session, ":vars")[1:2] == ['y = "1Gi"']


def test_values_of_built_in_kinds_are_those_of_go(session: Session) -> None:
    session.variables["object"] = {"apiVersion": "v1", "kind": "Pod", **OBJECT}
    assert answer(session, ":let all = object.spec.containers")[0].startswith("all = ")
    for each in ("all", "object.spec.containers"):
        assert answer(session, f"{each}[0u]")[0] == "error: unsupported index type: types.Uint"


def test_file_is_loaded_as_object_or_by_name(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("metadata: {name: web}\n")
    assert answer(session, f":load {file}") == ['object = {"metadata": {"name": "web"}}']
    assert answer(session, f":load {file} mine")[0].startswith("mine = ")
    assert answer(session, "mine.metadata.name == object.metadata.name")[0] == "true"


def test_large_values_are_indented(session: Session) -> None:
    session.width = 20
    assert answer(session, "object.spec.containers")[:3] == ["[", "  {", '    "name": "a",']


def test_help_names_every_command_and_quit_ends(session: Session) -> None:
    text = "\n".join(answer(session, ":help"))
    assert all(name in text for name in COMMANDS)
    list(session.answer(":quit"))
    assert session.done


COMPLETIONS = [
    ("obj", {"object"}, set()),
    ("1 + object.sp", {"spec"}, {"size("}),
    ("object.spec.", {"containers", "replicas"}, {"a-b", "startsWith("}),
    ("object.spec.?con", {"containers"}, set()),
    ("object.?spec.?con", {"containers"}, set()),
    ("object.spec.containers[0].", {"name", "image"}, set()),
    ("object.spec.containers.a", {"all("}, {"name"}),
    ("[object.spec.containers.map(c, c.name)].", {"filter(", "size("}, set()),
    ("'a'.st", {"startsWith("}, {"size("}),
    ("sets.", {"contains(", "intersects("}, set()),
    ("quantity('1').is", {"isLessThan("}, set()),
    (":t", {":type", ":trace"}, {":vars"}),
    ("nothing.", set(), {"spec"}),
    ("du", {"duration("}, set()),
    (":type ob", {"object"}, set()),
]


@pytest.mark.parametrize(("line", "has", "lacks"), COMPLETIONS)
def test_completion(session: Session, line: str, has: set[str], lacks: set[str]) -> None:
    found = set(completions(line, session))
    assert has <= found
    assert not lacks & found


OPEN = [
    ("a.all(c,", True),
    ("(1 + 2)", False),
    ("a &&", True),
    ("'(' ", False),
    ("'''text", True),
    ("'unclosed", False),
    ("'\\'' + [", True),
    (":load [", False),
    ("a ? b :", False),
    ("1 \\", True),
]


@pytest.mark.parametrize(("text", "want"), OPEN)
def test_expressions_that_go_on(text: str, want: bool) -> None:
    assert is_open(text) is want


READ = [
    (["1 +", "2"], ["1 +\n2"]),
    (["[1, 2].all(i,", ":quit"], [":quit"]),
    (["(1", "  :type 1 "], ["  :type 1 "]),
    (["(1", ":nothing", ")"], ["(1\n:nothing\n)"]),
    (["(a ? b", ":vars)"], ["(a ? b\n:vars)"]),
    (["(1", "", "2"], ["(1\n", "2"]),
]


@pytest.mark.parametrize(("lines", "wanted"), READ)
def test_what_is_read_of_lines(
    lines: list[str], wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = iter(lines)
    monkeypatch.setattr("builtins.input", lambda _: next(given))
    assert [read() for _ in wanted] == wanted


def started(state: Path, *arguments: str) -> Interactive:
    variables = {"TERM": "dumb", "INPUTRC": "/dev/null", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)}
    variables["XDG_STATE_HOME"] = str(state)
    return Interactive("eval", *arguments, variables=variables)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Interactive]:
    (tmp_path / "pod.yaml").write_text("spec: {containers: [{name: web, image: 'nginx:1'}]}\n")
    made = started(tmp_path / "state", "--load", str(tmp_path / "pod.yaml"))
    yield made
    made.close()


def test_in_a_terminal(terminal: Interactive, tmp_path: Path) -> None:
    terminal.until("cel> ")
    terminal.type("object.spec.conta\t[0].name\n")
    shown = terminal.until("cost")
    assert "object.spec.containers[0].name" in shown
    assert '"web"' in shown
    terminal.until("cel> ")
    terminal.type("[1, 2].all(i,\n")
    terminal.until("...> ")
    terminal.type("i > 0)\n")
    assert "true" in terminal.until("bool")
    terminal.until("cel> ")
    terminal.type("object.x\n")
    assert "no such key: x" in terminal.until("^")
    terminal.until("cel> ")
    terminal.type("1 + ")
    terminal.until("1 + ")
    for _ in range(30):  # readline misses a signal between a key and its wait for the next one
        terminal.type("\x03")
        if terminal.shows("cel> ", 1):
            break
    terminal.until("cel> ")
    terminal.type("\x04")
    assert terminal.process.wait(300) == 0
    history = tmp_path / "state" / "policyd" / "eval_history"
    assert "object.spec.containers[0].name" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600
    again = started(tmp_path / "state")
    try:
        again.until("cel> ")
        again.type("\x10\x10\n")
        assert "i > 0)" in again.until("\n")
        again.until("cel> ")
        again.type(":quit\n")
        assert again.process.wait(300) == 0
    finally:
        again.close()


def test_without_a_terminal_an_expression_is_needed() -> None:
    done = run("eval")
    assert done.returncode == 2
    assert "Missing argument 'EXPRESSION' (or --jsonl)" in done.stderr
