"""Globs as regular expressions, and hosts of registries that other hosts begin with."""

import pytest

from policyd.json_types import JSON
from policyd.policy.lint.all import in_policies
from policyd.policy.lint.run import LintRun
from policyd.policy.lint.values.matched_strings import globs, open_hosts
from tests.builders.policies import PODS, demand, policy
from tests.policy_sets import loaded

IMAGE = "object.spec.containers.all(c, {})".format
HOST = "registry.example.com"


def run(*validations: JSON) -> LintRun:
    sources = loaded(policy("p", PODS, validations=list(validations)))
    assert sources.problems == ()
    return LintRun(sources)


GLOBS = [
    ("object.metadata.name.matches('web-*')", "object.metadata.name.startsWith('web-')"),
    (IMAGE(f"c.image.matches('{HOST}/*')"), f"c.image.startsWith('{HOST}/')"),
    (IMAGE("c.image.matches('a.b/*:latest')"), "c.image.matches('^a[.]b/.*:latest$')"),
    ("(object.a + 'x').matches('web-?a*')", "(object.a + 'x').matches('^web-.a.*$')"),
]


@pytest.mark.parametrize(("expression", "instead"), GLOBS)
def test_globs_in_matches(expression: str, instead: str) -> None:
    (found,) = in_policies(run(demand(expression, "no")), globs)
    assert (found.rule, found.severity, found.hint) == (
        "glob-as-regex",
        "advice",
        f"write {instead}",
    )
    assert found.excerpt


@pytest.mark.parametrize(
    "pattern",
    [
        "^web-.*$",
        "web-.*",
        "web",
        "[a-z]*",
        "^a*$",
        "(a|b)*",
        "a+",
        "a?",
        "https?://",
        "\\\\w*",
        "a.b",
    ],
)
def test_other_expressions_are_not_globs(pattern: str) -> None:
    assert list(in_policies(run(demand(f"object.a.matches('{pattern}')", "no")), globs)) == []


BEGINS = f"write startsWith('{HOST}/')"
SUFFIXED, INSIDE = f"{HOST}.example.net", f"example.net/{HOST}"
OPEN = [
    (f"c.image.startsWith('{HOST}')", SUFFIXED, BEGINS),
    (f"c.?image.orValue('').startsWith('{HOST}')", SUFFIXED, BEGINS),
    (f"has(c.tty) ? c.image.startsWith('{HOST}') : false", SUFFIXED, BEGINS),
    (f"!has(c.tty) || !!c.image.startsWith('{HOST}')", SUFFIXED, BEGINS),
    (f"['a/', '{HOST}'].exists(r, c.image.startsWith(r))", SUFFIXED, BEGINS),
    (f"c.image.contains('{HOST}')", INSIDE, BEGINS),
    (f"c.image.startsWith('{HOST}:5000')", f"{HOST}:5000.example.net", f"write startsWith('{HOST}:5000/')"),
    (f"c.image.matches('{HOST}')", INSIDE, "begin the pattern with ^: '^registry[.]example[.]com/'"),
    (f"c.image.matches('{HOST}/.*')", INSIDE, "begin the pattern with ^: '^registry[.]example[.]com/'"),
    (f"c.image.matches('^{HOST}')", SUFFIXED, "end the host with a slash: '^registry[.]example[.]com/'"),
    (r"c.image.matches('^registry\\.example\\.com.*')", SUFFIXED,
     "end the host with a slash: '^registry[.]example[.]com/'"),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "other", "hint"), OPEN)
def test_hosts_that_others_begin_with_or_contain(condition: str, other: str, hint: str) -> None:
    (found,) = in_policies(run(demand(IMAGE(condition), "no")), open_hosts)
    assert (found.rule, found.severity) == ("open-registry", "advice")
    assert found.message == f"images of other registries match, too: {other}/x"
    assert found.hint == hint


@pytest.mark.parametrize(
    "condition",
    [
        f"c.image.startsWith('{HOST}/')",
        f"c.image.startsWith('{HOST}/team')",
        f"!c.image.startsWith('{HOST}')",  # what is denied
        f"!['{HOST}'].exists(r, c.image.startsWith(r))",
        f"c.name.startsWith('{HOST}')",
        "c.image.startsWith('nginx')",
        "c.image.contains(':1.29')",
        "c.image.startsWith(object.metadata.name)",
        f"c.image.matches('^{HOST}/')",
        f"c.image.matches('^{HOST}(:5000)?/')",
        f"c.image.matches('^({HOST}|example.org)/')",
        "c.image.matches(':v[0-9]+.[0-9]+$')",
        f"c.image.matches('{HOST}/*')",  # a glob
        f"c.image.startsWith('{HOST}') == true",
    ],
)
def test_hosts_that_are_closed_or_denied(condition: str) -> None:
    assert list(in_policies(run(demand(IMAGE(condition), "no")), open_hosts)) == []


@pytest.mark.parametrize(
    ("key", "value", "hosts"),
    [
        ("image", f"{HOST}*", [HOST]),
        ("=(image)", f"a.io/* | {HOST}* | b.io*", [HOST, "b.io"]),
        ("image", f"{HOST}/*", []),
        ("image", f"!{HOST}*", []),
        ("(image)", f"{HOST}*", []),
        ("name", f"{HOST}*", []),
        ("image", "nginx*", []),
    ],
)
def test_hosts_in_patterns(key: str, value: str, hosts: list[str]) -> None:
    tree = {"spec": {"containers": [{key: value, "tty": False}]}}
    for field in ({"pattern": tree}, {"anyPattern": [tree]}):
        found = list(in_policies(run({"message": "no", **field}), open_hosts))
        assert [each.hint for each in found] == [f"write {host}/*" for host in hosts]
        assert all(each.path.endswith(f"[{key}]" if "(" in key else f".{key}") for each in found)
