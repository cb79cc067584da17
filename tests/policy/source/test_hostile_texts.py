"""Texts that must load to errors with a place, whatever is in them, and what they cost."""

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.cli import policyd
from policyd.policy.source.json_text.surrogates import lone_surrogate
from tests.builders.policies import demand, policy, rule
from tests.sampling import examples, sampled

DIGITS = "1" * 5000
HEAD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
"""
CHECK = "  validations: [{expression: %s, message: %s}]\n"
VARIABLES = "  variables: [%s]\n" + CHECK % ("variables.a", "m")
OBJECT = policy("p", rule("pods"), validations=[demand("true", "@")])


def as_json(message: str) -> str:
    return json.dumps(OBJECT).replace("@", message)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{last}'] * 10)}]\n"
    for last, name in zip("abcdefgh", "bcdefghi", strict=True)
)
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: s}
policies: [%s]
cases: [{name: c, request: {object: {apiVersion: v1, kind: Pod}}, expect: {allowed: true}}]
"""
# text, then the place and part of the first error
WRONG: dict[str, tuple[str | bytes, str, str]] = {
    "half a pair in JSON": (as_json("a\\ud800b"), ":1:", r"\ud800 is half of a surrogate pair"),
    "the other half": (as_json("a\\uDC00b"), ":1:", r"\uDC00 is half of a surrogate pair"),
    "two first halves": (as_json("\\ud83d\\ud83d\\ude00"), ":1:", "half of a surrogate pair"),
    "half a pair below ---": ("---\n" + as_json("\\ud800"), ":2:", "half of a surrogate pair"),
    "half a pair in YAML": (
        HEAD + CHECK % ("'true'", '"\\ud800"'),
        ":8:",
        "invalid Unicode character escape",
    ),
    "half a pair in bytes": (
        (HEAD + CHECK % ("'true'", "x")).encode() + b"# \xed\xa0\x80",
        ":9:",
        "not valid UTF-8",
    ),
    "a NUL": (HEAD + CHECK % ("'true'", "a\0b"), ":8:", "control characters are not allowed"),
    "a variable of itself": (
        HEAD + VARIABLES % "{name: a, expression: variables.a}",
        ":8:",
        "undeclared reference to 'variables'",
    ),
    "a variable of itself beside another": (
        HEAD + VARIABLES % "{name: b, expression: '1'}, {name: a, expression: variables.a}",
        ":8:",
        "undefined field 'a'",
    ),
    "variables of each other": (
        HEAD
        + VARIABLES
        % "{name: a, expression: has(variables.b.c)}, {name: b, expression: variables.a}",
        ":8:",
        "undeclared reference to 'variables'",
    ),
    "an integer in CEL": (HEAD + CHECK % (f"'{DIGITS} == 1'", "m"), ":8:", "invalid int literal"),
    "an integer for seconds": (
        HEAD + f"  timeoutSeconds: {DIGITS}\n" + CHECK % ("'true'", "m"),
        ":8:",
        "expected a number",
    ),
    "an integer of a date": (
        HEAD + CHECK % ("'true'", "m") + f"  exceptions: [{{name: a, until: '{DIGITS}-01-01'}}]\n",
        ":9:",
        "Invalid value",
    ),
    "a suite of policies that are not there": (SUITE % "nowhere.yaml", ":4:", "no such file"),
    "a suite of policies without a path": (SUITE % '"a\\0b"', ":4:", "no such file"),
    "deep YAML": (
        HEAD + "  x: " + "[" * 5000 + "]" * 5000,
        ":8:",
        "nested deeper than 1000 levels",
    ),
    "deep JSON": ('{"a":' * 50_000 + "1" + "}" * 50_000, ":1:", "nested deeper than 1000 levels"),
    "an alias bomb": (BOMB, ":6:", "document contains excessive aliasing"),
    "an anchor in itself": ("a: &a [*a]\n", ":1:", "an anchor contains itself"),
    "a huge key": ("? " + "k" * 100_000 + "\n: v\n", ":1:", "both are missing"),
}
# These are no errors of their form: numbers that are none are texts, as in Go.
RIGHT: dict[str, str] = {
    "an integer": HEAD.replace("name: p", f"name: p, generation: {DIGITS}")
    + CHECK % ("'true'", "m"),
    "an octal integer": HEAD.replace("name: p", f"name: p, generation: 0{'7' * 5000}")
    + CHECK % ("'true'", "m"),
    "an integer in JSON": as_json("@").replace('"@"', DIGITS),
    "an index of a JSON Patch": HEAD
    + "  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "
    f"\"[JSONPatch{{op: 'add', path: '/spec/containers/{DIGITS}', value: 'x'}}]\"}}}}]\n",
    "a whole pair": as_json("\\ud83d\\ude00"),
    "an escaped backslash": as_json("\\\\ud800"),
    "a suite of another group": "apiVersion: example.com/v1\nkind: PolicyTest\n"
    "metadata: {name: s}\ncases: [{name: c}]\n",
}


def lint(tmp_path: Path, text: str | bytes) -> tuple[int, str]:
    file = tmp_path / "p.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    done = CliRunner().invoke(policyd, ["lint", "--strict", str(file)], catch_exceptions=False)
    return done.exit_code, done.output


@pytest.mark.parametrize("name", WRONG)
def test_it_is_an_error_with_a_place(tmp_path: Path, name: str) -> None:
    text, place, part = WRONG[name]
    code, output = lint(tmp_path, text)
    assert code == 1
    first = next(line for line in output.splitlines() if " error: " in line)
    assert f"p.yaml{place}" in first
    assert part in first


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_no_crash(tmp_path: Path, name: str) -> None:
    code, output = lint(tmp_path, RIGHT[name])
    assert code in (0, 1)
    assert "Error: " not in output


PIECES = st.sampled_from(
    [
        "null",
        "true",
        "1.5",
        "[]",
        "{}",
        "[null]",
        "{a: null}",
        "!!int x",
        "&a x",
        "*a",
        "<<: *a",
        "1e400",
        "'\\ud800'",
        '"\\ud800"',
        '"\\0"',
        DIGITS,
        "variables.a",
        "params",
        "'*/*'",
        "apiVersion: x",
        "kind: PolicyTest",
        "name: a",
        "spec:",
        "cases:",
        "- ",
        "\n  ",
        "# policyd-lint: disable=x",
        "---\n",
        "objectFile: ..",
        "expression: variables.a",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "'",
        '"',
        "\t",
        "\x85",
        "\u2028",
        "\ufeff",
        "|\n",
    ]
)


@settings(max_examples=examples(150), deadline=None)
@given(at=st.lists(st.tuples(st.integers(0, len(HEAD) + 80), PIECES), max_size=6))
def test_lint_reports_whatever_it_is_given(
    tmp_path_factory: pytest.TempPathFactory, at: list[tuple[int, str]]
) -> None:
    text = HEAD + CHECK % ("object.metadata.name != 'a'", "m")
    for place, piece in at:
        text = text[:place] + piece + text[place:]
    code, output = lint(tmp_path_factory.getbasetemp(), text.encode("utf-8", "surrogatepass"))
    assert code in (0, 1)
    assert "Error: \n" not in output


@given(st.text(st.characters(categories=[], include_characters="\\ud8cfe0a\"'\n")))
def test_a_lone_surrogate_is_found_where_json_reads_one(text: str) -> None:
    try:
        value = json.loads(f'"{text}"', strict=False)
    except ValueError:
        return
    lone = any("\ud800" <= char <= "\udfff" for char in value)
    assert (lone_surrogate(f'"{text}"') is not None) is lone


MIB = 2**20
FORMS: dict[str, str] = {
    "comments": "#\n" * (5 * MIB),
    "one comment": "# " + "x" * (10 * MIB) + "\n",
    "blank lines": "\n" * (10 * MIB),
    "comments beside one that disables": "# policyd-lint: disable=x\n" + "#\n" * (5 * MIB),
    "comments that disable": "# policyd-lint: disable=missing-message x\n" * (MIB // 20),
}
# What a process may take: what policyd itself takes, and a small multiple of the file.
MOST = 80 * MIB + 20 * 10 * MIB
CHILD = """
import sys
from pathlib import Path
from policyd.policy.source.loader import load
load([sys.argv[1]])
status = Path("/proc/self/status").read_text()
print(next(int(line.split()[1]) * 1024 for line in status.splitlines() if "VmHWM" in line))
"""


@pytest.mark.parametrize("name", sampled(FORMS))
def test_comments_cost_a_small_multiple_of_themselves(tmp_path: Path, name: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(FORMS[name] + HEAD + CHECK % ("'true'", "m"))

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    done: Any = subprocess.run(
        [sys.executable, "-c", CHILD, str(file)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        preexec_fn=bounded,
    )
    assert int(done.stdout) < MOST
