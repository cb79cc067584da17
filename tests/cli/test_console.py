"""Every command as it is installed: the script ``policyd`` in pipes, terminals and bad weather."""

import json
import os
import re
import shutil
import signal
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from policyd.policy.suite.reviews import build_review
from tests.builders.commands import NAMES
from tests.builders.policies import EVERYTHING, document, rule
from tests.builders.webhook_configurations import KINDS, configuration, hook
from tests.cli.terminal import PATIENCE, SCRIPT, environment, in_terminal, run, start
from tests.cli.within import within
from tests.sampling import sampled
from tests.server.process import until

pytestmark = pytest.mark.skipif(
    not SCRIPT.exists(), reason=f"policyd is not installed: no {SCRIPT} (make build installs it)"
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "web", "image": "nginx:1"}]},
}
LABELLED = {**POD, "metadata": {"name": "web", "labels": {"example.com/team": "shop"}}}
REVIEW = build_review(POD)
ALL_REQUESTS = configuration(
    KINDS[0], hook(clientConfig={"url": "https://127.0.0.1:1/validate"}, rules=[EVERYTHING])
)
VPOL = document(
    "policies.kyverno.io/v1", "ValidatingPolicy", "named",
    {
        "matchConstraints": {"resourceRules": [rule("pods", operations=["CREATE"])]},
        "validations": [{"expression": "object.metadata.name != 'x'"}],
    },
)  # fmt: skip
# How each command is run with success; what is written to standard input follows.
WORKS: dict[str, tuple[tuple[str, ...], str]] = {
    "review": (("-p", "policies", "-"), json.dumps(REVIEW)),
    "apply": (("-p", "policies", "-"), json.dumps(LABELLED)),
    "explain": (("-p", "policies", "-"), json.dumps(POD)),
    "test": (("policies",), ""),
    "lint": (("policies",), ""),
    "replay": (("-p", "policies", "--against", "policies", "-"), json.dumps(REVIEW)),
    "compare": (
        ("-p", "policies", "--captures", "-", "--against", "webhooks.json"), json.dumps(REVIEW),
    ),
    "eval": (("object.kind", "-"), json.dumps(POD)),
    "bench core": (("-p", "policies", "--rounds", "7"), ""),
    "configmap": (("policies",), ""),
    "export": (("-p", "policies"), ""),
    "import": (("-",), json.dumps(VPOL)),
    "webhooks match": (("-f", "webhooks.json", "-"), json.dumps(POD)),
    "webhooks render": (("-p", "policies"), ""),
    "webhooks rbac": (("-p", "policies"), ""),
    "webhooks check": (("-p", "policies", "-f", "-"), json.dumps(ALL_REQUESTS)),
    "init": (("fresh",), ""),
    "schema": ((), ""),
    "completion": (("bash",), ""),
    "version": ((), ""),
}  # fmt: skip
OFFLINE = sorted(WORKS)
IN_A_CLUSTER = {f"webhooks {each}" for each in ("apply", "delete", "diff", "status", "watch")}
IN_A_CLUSTER |= {"bench server", "denials", "report"}


@pytest.fixture(scope="module")
def initial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``init`` writes."""
    made = tmp_path_factory.mktemp("init")
    done = run("init", "policies/team", cwd=made)
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def folder(tmp_path: Path, initial: Path) -> Path:
    """A folder with a policy, its suite and a Pod."""
    shutil.copytree(initial, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pod.json").write_text(json.dumps(POD))
    (tmp_path / "webhooks.json").write_text(json.dumps(configuration()))
    return tmp_path


def watched(one: str, of: list[str]) -> dict[str, str]:
    """The variables with which an interpreter reports all that is wrong; others warn of open files only."""
    return {"PYTHONDEVMODE": "1"} if one in sampled(of) else {}


def test_every_command_has_a_way_to_work() -> None:
    assert {*WORKS, *IN_A_CLUSTER, "serve"} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_help_in_a_pipe_is_plain_and_has_examples(name: str) -> None:
    # What the encoding of the pipe does not have is escaped.
    done = within(*name.split(), "--help", charset="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: policyd {name}")
    assert "Examples:" in done.stdout
    assert "Exit status: " in done.stdout
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("name", OFFLINE)
def test_it_works_in_a_pipe_without_colours(name: str, folder: Path) -> None:
    arguments, text = WORKS[name]
    done = run(*name.split(), *arguments, cwd=folder, text=text, **watched(name, OFFLINE))
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "Warning: " not in done.stderr


# Files are opened before the other options are read.
MISTAKES = [
    "--no-project explain pod.json",
    "--no-project review pod.json",
    "webhooks match pod.json",
    "eval 1 --load pod.json --kubernetes-version 3",
    "eval object pod.json --format sarif",
]


@pytest.mark.parametrize("arguments", MISTAKES)
def test_a_mistake_leaves_no_file_open(arguments: str, folder: Path) -> None:
    done = run(*arguments.split(), cwd=folder, **watched(arguments, MISTAKES))
    assert done.returncode == 2
    assert "Error: " in done.stderr
    assert "Warning: " not in done.stderr
    assert "\n  hint: the expression" not in done.stderr


# What has colours in a terminal; the others write JSON or scripts.
COLOURED = [
    ("apply", ("-p", "policies", "pod.json")),
    ("explain", ("-p", "policies", "pod.json")),
    ("lint", ("broken.yaml",)),
    ("test", ("policies",)),
    ("init", ("fresh",)),
]


@pytest.mark.parametrize(("name", "arguments"), COLOURED, ids=[row[0] for row in COLOURED])
def test_colours_are_for_terminals_that_want_them(
    name: str, arguments: tuple[str, ...], folder: Path
) -> None:
    (folder / "broken.yaml").write_text("apiVersion: policyd.dev/v1\nkind: Policy\n")
    if name == "init":
        plain, arguments = in_terminal(name, "other", cwd=folder, NO_COLOR="1"), ("fresh",)
    else:
        plain = in_terminal(name, *arguments, cwd=folder, NO_COLOR="1")
    coloured = in_terminal(name, *arguments, cwd=folder)
    assert not COLOUR.search(plain)
    assert COLOUR.search(coloured)
    assert plain.strip()


PIPES = {
    "FORCE_COLOR": ((), {"FORCE_COLOR": "1"}, True),
    "--color": (("--color", "always"), {"NO_COLOR": "1"}, True),
    "--color never": (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    "--color auto": (("--color", "auto"), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
}  # fmt: skip


@pytest.mark.parametrize(("flags", "more", "colored"), PIPES.values(), ids=PIPES)
def test_colors_in_a_pipe(
    flags: tuple[str, ...], more: dict[str, str], colored: bool, folder: Path
) -> None:
    done = run("test", "policies", *flags, cwd=folder, **more)
    assert done.returncode == 0, done.stderr
    assert bool(COLOUR.search(done.stdout)) is colored


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_option_is_an_error_that_says_where_help_is(name: str) -> None:
    done = within(*name.split(), "--conquer")
    assert done.returncode == 2
    assert done.stderr.startswith(f"Usage: policyd {name}")
    assert f"Try 'policyd {name} --help' for help." in done.stderr
    assert "No such option '--conquer'." in done.stderr


@pytest.mark.parametrize("name", ["review", "apply", "explain", "replay"])
def test_policies_that_are_missing_are_asked_for(name: str, folder: Path) -> None:
    done = run("--no-project", *name.split(), "pod.json", cwd=folder)
    assert done.returncode == 2
    assert "Missing option '-p' / '--policies'." in done.stderr


def closed_pipe(*arguments: str, cwd: Path, text: str) -> tuple[int, str]:
    """As ``policyd … | true``: who reads is gone before the first line."""
    reading, writing = os.pipe()
    os.close(reading)
    with TemporaryFile() as stdin, os.fdopen(writing, "wb") as stdout, TemporaryFile() as stderr:
        stdin.write(text.encode())
        stdin.seek(0)
        streams = (stdin.fileno(), stdout.fileno(), stderr.fileno())
        process = start(*arguments, cwd=cwd, streams=streams, variables=environment())
        status = process.wait(PATIENCE)
        stderr.seek(0)
        return status, stderr.read().decode()


@pytest.mark.parametrize("name", OFFLINE)
def test_a_reader_that_goes_away_is_no_error_to_tell(name: str, folder: Path) -> None:
    arguments, text = WORKS[name]
    _, errors = closed_pipe(*name.split(), *arguments, cwd=folder, text=text)
    assert "Traceback" not in errors
    assert "pipe" not in errors.lower()


@pytest.mark.parametrize("name", [name for name in OFFLINE if WORKS[name][1]])
def test_ctrl_c_ends_quietly(name: str, folder: Path) -> None:
    reading, writing = os.pipe()
    with TemporaryFile() as output, TemporaryFile() as errors:
        process = start(
            *name.split(),
            *WORKS[name][0],
            cwd=folder,
            streams=(reading, output.fileno(), errors.fileno()),
            variables=environment(),
        )
        os.close(reading)
        waits = Path(f"/proc/{process.pid}/wchan")
        try:
            if not waits.exists():
                pytest.skip("nobody says here for what a process waits")
            until(lambda: "pipe" in waits.read_text() or process.poll() is not None, "the command")
            process.send_signal(signal.SIGINT)
            status = process.wait(PATIENCE)
        finally:
            process.kill()
            os.close(writing)
        errors.seek(0)
        assert (status, errors.read().strip()) == (130, b"")


# One argument is the file; what else is given is as it should be.
READS = [
    ("review", "-p", "policies", "FILE"),
    ("review", "-p", "FILE", "pod.json"),
    ("review", "-p", "policies", "--object", "pod.json", "--old", "FILE"),
    ("apply", "-p", "policies", "FILE"),
    ("apply", "-p", "FILE", "pod.json"),
    ("apply", "-p", "policies", "pod.json", "--old", "FILE"),
    ("apply", "-p", "policies", "pod.json", "--authorizer", "FILE"),
    ("apply", "-p", "policies", "--cluster", "--kubeconfig", "FILE"),
    ("explain", "-p", "policies", "FILE"),
    ("explain", "-p", "FILE", "pod.json"),
    ("explain", "-p", "policies", "pod.json", "--old", "FILE"),
    ("test", "FILE"),
    ("lint", "FILE"),
    ("bench", "core", "-p", "FILE"),
    ("bench", "core", "-p", "policies", "FILE"),
    ("bench", "core", "-p", "policies", "--compare", "FILE"),
    ("replay", "-p", "policies", "FILE"),
    ("replay", "-p", "policies", "pod.json", "--against", "FILE"),
    ("eval", "object", "FILE"),
    ("eval", "1", "--load", "FILE"),
    ("webhooks", "render", "-p", "FILE"),
    ("webhooks", "render", "-p", "policies", "--ca-file", "FILE"),
    ("webhooks", "check", "-p", "policies", "-f", "FILE"),
    ("webhooks", "diff", "-p", "policies", "--kubeconfig", "FILE"),
    ("report", "-p", "FILE", "--kubernetes-version", "1.37"),
    ("report", "-p", "policies", "--kubeconfig", "FILE"),
    ("webhooks", "match", "-f", "FILE", "pod.json"),
    ("webhooks", "match", "-f", "webhooks.json", "FILE"),
    ("serve", "-p", "FILE", "--self-signed"),
    ("serve", "-p", "policies", "--config", "FILE"),
    ("serve", "-p", "policies", "--tls-cert", "FILE", "--tls-key", "FILE"),
]
# The second can be opened, but not read, by anybody.
FILES = ("nowhere.yaml", "/proc/self/mem", "binary.yaml", "n\udcffo.yaml")


@pytest.mark.parametrize(
    ("number", "command"),
    sampled(enumerate(READS)),
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_what_cannot_be_read_is_told_with_its_name(
    number: int, command: tuple[str, ...], folder: Path
) -> None:
    (folder / "binary.yaml").write_bytes(b"\xff\xfe\x00 no text")
    for file in (FILES[number % 2], FILES[2 + number // 2 % 2]):
        done = run(*(file if each == "FILE" else each for each in command), cwd=folder)
        # lint tells what is wrong with policies: to it this is one more finding.
        assert done.returncode == (1 if command[0] == "lint" else 2), (file, done.stderr)
        told = done.stderr + done.stdout
        assert "Traceback" not in told
        assert "error" in told.lower()
        named = Path(file).name.replace("\udcff", "")
        assert named in re.sub(r"\\udcff|\\xff|\ufffd", "", told), (file, told)


LOCALES = [
    {"LC_ALL": "C"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "latin-1"},
]

SNOWMAN = "\N{SNOWMAN}"
NAMED = f"\N{LATIN SMALL LETTER E WITH ACUTE} {SNOWMAN}.yaml"
WITH_CHARACTERS = [
    (("apply", "--help"), 0),
    (("apply", "-p", NAMED, "pod.json"), 1),
    (("apply", "-p", NAMED, "pod.json", "--format", "junit"), 1),
    (("explain", "-p", NAMED, "pod.json"), 0),
    (("lint", NAMED), 0),
    (("eval", f"'{SNOWMAN}' +"), 2),
]


@pytest.mark.parametrize(
    ("locale", "command", "status"),
    sampled([(locale, *row) for locale in LOCALES for row in WITH_CHARACTERS]),
    ids=lambda each: (
        " ".join(each.values() if isinstance(each, dict) else map(str, each))
        if not isinstance(each, int)
        else ""
    ),
)
def test_any_locale_will_do(
    locale: dict[str, str], command: tuple[str, ...], status: int, folder: Path
) -> None:
    policy = (folder / "policies/team/policy.yaml").read_text("utf-8")
    policy = re.sub("message: .*", f"message: {SNOWMAN}", policy)
    (folder / NAMED).write_text(policy, "utf-8")
    done = run(*command, cwd=folder, **locale)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
