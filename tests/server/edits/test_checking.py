"""What an edit adds to the policies, and what the answer shows of it. In this process."""

import gzip
import io
import json
from collections.abc import Iterable
from itertools import count

import pytest

from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import flat, name_of
from policyd.policy.kinds.wanted_definitions import WantedDefinition
from policyd.policy.source.files import SourceFile
from policyd.server.edits.checking import check
from policyd.server.edits.edit_gate import denial
from policyd.server.edits.model import (
    EditFindings,
    InUse,
    PolicyEdit,
    TooLate,
    read,
    written,
)
from policyd.versions import NEWEST
from tests.builders.config_maps import BROKEN, forbidding, policy_map
from tests.builders.objects import config_map
from tests.builders.policies import demand, policy, rule, suite
from tests.server.edits.texts import TEXT

A = policy_map("a", p=forbidding("one"))
B = policy_map("b", p=forbidding("two", "worse"), q=BROKEN)
HELD = {
    f"configmap/{name}.yaml": frozenset({"policies"}) for name in ("a/p", "b/p", "b/q", "hidden/h")
}
HIDDEN = policy_map("hidden", h=forbidding("buried"))


def edit(
    old: JSONObject | None,
    new: JSONObject | None,
    *others: JSONObject,
    files: Iterable[SourceFile] = (),
    allow_empty: bool = False,
) -> PolicyEdit:
    """An edit as the process that checks it reads it."""
    made = PolicyEdit(
        name_of(new or old or {}),
        None if old is None else flat(old),
        None if new is None else flat(new),
        InUse([None] * 3, HELD, NEWEST, allow_empty),
        [flat(each) for each in others],
        [*files],
        definitions=True,
    )
    return read(io.BytesIO(b"".join(written(made))))


def found(given: PolicyEdit) -> EditFindings:
    return check(given, lambda _: (), lambda: None)


GOOD = config_map(data={"a": "1"})
FAILS: JSONObject = {"name": "c", "request": {"object": GOOD}, "expect": {"allowed": False}}
OTHER = BROKEN | {"metadata": {"name": "other"}}

EDITS: list[tuple[JSONObject | None, JSONObject | None, str]] = [
    # old, new, a part of the denial
    (A, policy_map("a", p=forbidding("three")), ""),
    (None, policy_map("c", p=forbidding("three")), ""),
    (A, None, ""),
    (A, policy_map("a", p="kind: ["), "configmap/a/p.yaml:1:7: "),
    (A, policy_map("a", p=""), "configmap/a/p.yaml: no longer holds policies"),
    (A, policy_map("a", p=forbidding("two")), "Policy two is defined twice"),
    (A, policy_map("a", p=forbidding("buried")), "first in configmap/a/p.yaml"),
    (None, policy_map("c", p=forbidding("one")), "first in another source"),
    (None, policy_map("z", p=forbidding("buried")), "configmap/z/p.yaml:1:"),
    (A, policy_map("a", p=forbidding("one"), s=suite(cases=[FAILS])), "case 'c' failed"),
    # What was broken before: repaired, left as it is, on another line, made worse.
    (B, policy_map("b", p=forbidding("two", "worse")), ""),
    (B, policy_map("b", p=forbidding("two", "other"), q=BROKEN), ""),
    (B, policy_map("b", p=forbidding("two"), q="#\n#\n" + json.dumps(BROKEN)), ""),
    (B, policy_map("b", p=forbidding("two"), q=BROKEN, r=OTHER), "configmap/b/r.yaml:1:"),
    (None, policy_map("c", p=OTHER), "configmap/c/p.yaml:1:"),
]


@pytest.mark.parametrize(("old", "new", "wanted"), EDITS)
def test_an_edit_is_denied_for_the_errors_that_it_adds(
    old: JSONObject | None, new: JSONObject | None, wanted: str
) -> None:
    name = name_of(new or old or {})
    result = found(edit(old, new, *(each for each in (A, B, HIDDEN) if name_of(each) != name)))
    assert bool(result.errors) is bool(wanted), result
    if wanted:
        said = denial("x", result)
        assert wanted in said and "1 error with" in said
        for other in ("configmap/a/", "configmap/b/", "configmap/hidden/"):
            assert other.startswith(f"{name}/") or other not in said


def test_a_broken_edit_is_shown_with_its_place_and_a_caret() -> None:
    result = found(edit(A, policy_map("a", p=TEXT), B))
    said = denial("a", result)
    assert said.startswith(
        "the policies would have 1 error with this edit of ConfigMap a:\n\n"
        "configmap/a/p.yaml:9:17: spec.validations[0].expression: "
    )
    assert "objct" in said and "^" in said and "hint: " in said
    (place,) = result.places
    assert place.startswith("configmap/a/p.yaml:9:17: spec.validations[0].expression")


def test_errors_in_other_sources_are_counted_and_named_in_the_log_only() -> None:
    """The suite of another team fails with the policy."""
    allowed: JSONObject = {**FAILS, "expect": {"allowed": True}}
    others = policy_map("hidden", h=forbidding("buried"), s=suite(cases=[allowed]))
    result = found(edit(None, policy_map("z", p=forbidding("new", "a")), others))
    assert (result.errors, result.elsewhere) == (1, 1)
    assert [each.partition(":")[0] for each in result.places] == ["configmap/hidden/s.yaml"]
    assert denial("z", result) == (
        "the policies would have 1 error with this edit of ConfigMap z:\n\n"
        "1 error in other sources: see policyd's log"
    )


def test_the_set_without_any_policy_is_refused_unless_it_may_be_empty() -> None:
    assert "the sources no longer hold policies" in denial("a", found(edit(A, None)))
    assert not found(edit(A, None, allow_empty=True)).errors


def test_many_errors_are_counted_beyond_what_a_terminal_shows() -> None:
    broken = [BROKEN | {"metadata": {"name": f"broken-{n}"}} for n in range(60)]
    text = "\n---\n".join(json.dumps(each, indent=1) for each in broken)
    said = denial("c", found(edit(None, policy_map("c", p=text))))
    assert said.startswith("the policies would have 60 errors with this edit of ConfigMap c:")
    assert said.endswith(" more") and 4_000 < len(said) < 8_000


def test_the_time_is_checked_while_a_key_is_decompressed() -> None:
    bomb = policy_map("c", {"a.yaml.gz": gzip.compress(b"#" * (8 * 2**20), 1)})
    looks = count()

    def breathe() -> None:
        if next(looks) == 3:
            raise TooLate

    with pytest.raises(TooLate):
        check(edit(None, bomb), None, breathe)


def test_definitions_are_asked_for_once_they_are_named() -> None:
    asked: list[frozenset[WantedDefinition]] = []

    def fetch(wanted: frozenset[WantedDefinition]) -> Iterable[JSONObject]:
        asked.append(wanted)
        return ()

    made = policy("w", rule("widgets", group="example.org"), validations=[demand("true", "never")])
    check(edit(None, policy_map("c", p=made)), fetch, lambda: None)
    assert asked == [frozenset({WantedDefinition("example.org", "widgets")})]


def test_exceptions_of_teams_are_among_the_sources() -> None:
    text = {
        "apiVersion": "policyd.dev/v1",
        "kind": "PolicyException",
        "metadata": {"name": "shop"},
        "spec": {"policies": ["one"], "match": {"resources": ["configmaps"]}, "reason": "x"},
    }
    name = "configmap/shop/e/x.yaml"
    file = SourceFile(name, name, json.dumps(text).encode(), beside={}, confined="shop")
    given = edit(A, policy_map("a", p=TEXT), B, files=[file])
    assert [(each.name, each.data, each.confined) for each in given.files] == [
        (file.name, file.data, "shop")
    ]
    assert "configmap/shop" not in denial("a", found(given))
