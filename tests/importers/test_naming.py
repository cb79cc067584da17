"""Names are valid, different from each other, and those of the source where they can be."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.importers.model import Imported, ImportedDocument
from policyd.importers.naming import named, valid_name
from policyd.importers.provenance import FROM, RULE
from tests.importers.converting import document

SUBDOMAIN = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")


def imported(
    name: str,
    *rules: str,
    kind: str = "ClusterPolicy",
    namespace: str = "",
    file: str = "p.yaml",
    index: int = 0,
) -> Imported:
    """An import as converters return it."""
    metadata = {"name": name, "namespace": namespace}
    made = document({"apiVersion": "kyverno.io/v1", "kind": kind, "metadata": metadata})
    source = replace(made, file=f"/s/{file}", index=index, root="/s")
    names = [f"{name}-{rule}" for rule in rules] or [name]
    documents = tuple(
        ImportedDocument({"kind": "Policy", "metadata": {"name": each}, "spec": {}})
        for each in names
    )
    found = {rule: (each,) for rule, each in zip(rules or ("",), names, strict=True)}
    return Imported(source, documents, rules=found)


def names_of(*imports: Imported) -> list[list[str]]:
    return [[each.name for each in one.documents] for one in named(imports)]


def test_a_policy_keeps_its_name_and_one_of_a_namespace_has_that_before() -> None:
    assert names_of(
        imported("no-latest"),
        imported("no-latest", kind="Policy", namespace="team-a"),
        imported("no-latest", kind="Policy", namespace="team-b"),
        imported("two", "x", "y"),
    ) == [["no-latest"], ["team-a-no-latest"], ["team-b-no-latest"], ["two-x", "two-y"]]


def test_a_kind_and_then_a_file_tell_policies_apart() -> None:
    assert names_of(
        imported("p"),
        imported("p", kind="ValidatingPolicy"),
        imported("p", file="z/q.yaml"),
        imported("p", file="z/r.yaml"),
    ) == [["p"], ["p-validatingpolicy"], ["p-clusterpolicy"], ["p-clusterpolicy-z-r"]]


def test_what_the_sources_have_twice_has_a_remark() -> None:
    one, other, third = named(
        [imported("p"), imported("p", file="q.yaml"), imported("p", kind="ValidatingPolicy")]
    )
    assert (one.remarks, third.remarks) == ((), ())
    assert "the other is in p.yaml:" in other.remarks[0].message


@pytest.mark.parametrize(
    ("kind", "namespace", "origin"),
    [("ClusterPolicy", "", "ClusterPolicy/p"), ("Policy", "team", "Policy/team/p")],
)
def test_a_document_names_its_source_and_rule(kind: str, namespace: str, origin: str) -> None:
    [one] = named([imported("p", "r", kind=kind, namespace=namespace)])
    annotations = one.documents[0].raw["metadata"]["annotations"]
    assert annotations == {FROM: origin, RULE: "r"}
    [one] = named([imported("p", kind=kind, namespace=namespace)])
    assert one.documents[0].raw["metadata"]["annotations"] == {FROM: origin}


def test_rules_of_one_name_get_policies_of_their_own() -> None:
    one = imported("p", "r", "r")
    one = Imported(one.source, one.documents, rules={"r": ("p-r",)})
    [found] = named([one])
    assert [each.name for each in found.documents] == ["p-r", "p-r-2"]
    assert found.rules == {"r": ("p-r", "p-r-2")}


@given(st.text(max_size=300))
def test_any_text_becomes_a_valid_name(text: str) -> None:
    name = valid_name(text)
    assert SUBDOMAIN.fullmatch(name)
    assert len(name) <= 253
    assert valid_name(name) == name


SOURCES = st.builds(
    imported,
    st.sampled_from(["a", "a-b", "A", "a.b", "a_b", "l" * 250]),
    st.sampled_from(["b", "c", "B c", "clusterpolicy"]),
    kind=st.sampled_from(["ClusterPolicy", "Policy", "ValidatingPolicy"]),
    namespace=st.sampled_from(["", "a", "b"]),
    file=st.sampled_from(["p.yaml", "q.yaml", "x/p.yaml"]),
    index=st.integers(0, 3),
)


@given(st.lists(SOURCES, max_size=8, unique_by=lambda one: (one.source.file, one.source.index)))
def test_no_two_documents_have_one_name(sources: list[Imported]) -> None:
    found = [name for names in names_of(*sources) for name in names]
    assert len({*found}) == len(found)
    assert all(SUBDOMAIN.fullmatch(name) and len(name) <= 253 for name in found)
    assert sorted(found) == sorted(name for names in names_of(*sources[::-1]) for name in names)
