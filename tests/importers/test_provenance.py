"""The annotations that name the source of a policy: written and read alike."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policyd.importers.provenance import Provenance, annotated, provenance, provenance_of
from policyd.policy.source.loaded_documents import Document
from tests.importers.converting import document

NAMES = st.text("abc/ -.=", min_size=1).filter(lambda text: " uid=" not in text)
HEX = st.text("0123456789abcdef-", min_size=1)


def sourced(**metadata: Any) -> Document:
    raw = {"apiVersion": "v1", "kind": "P", "metadata": {"name": "p", **metadata}, "spec": {"a": 1}}
    return document(raw)


def content(source: Document, *merged: Document) -> str:
    return provenance(source, merged).content


@given(NAMES, HEX, HEX, HEX, st.booleans())
def test_what_is_written_is_read(
    source: str, uid: str, version: str, digest: str, live: bool
) -> None:
    given = Provenance(source, uid, version, digest) if live else Provenance(source)
    metadata = annotated({"name": "x"}, given, "r")
    assert provenance_of(sourced(**metadata)) == (given, "r")


def test_a_policy_without_annotations_has_no_source() -> None:
    assert provenance_of(sourced()) == (Provenance(""), "")
    assert provenance_of(sourced(annotations=None)) == (Provenance(""), "")


@pytest.mark.parametrize(
    ("metadata", "same"),
    [
        ({"resourceVersion": "9", "generation": 2}, True),
        ({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}, True),
        ({"annotations": {"pod-policies.kyverno.io/autogen-controllers": "none"}}, False),
        ({"labels": {"a": "b"}}, False),
        ({"namespace": "other"}, False),
    ],
)
def test_the_content_is_what_decides(metadata: dict[str, Any], same: bool) -> None:
    before, now = sourced(uid="u"), sourced(uid="u", **metadata)
    assert (content(before) == content(now)) is same


def test_status_and_version_of_the_api_are_not_content_and_what_is_merged_is() -> None:
    source = sourced(uid="u")
    raw = {**source.raw, "apiVersion": "v2", "status": {"ready": True}}
    assert content(source) == content(replace(source, raw=raw))
    one, two = sourced(name="one"), sourced(name="two")
    assert content(source, one, two) == content(source, two, one) != content(source, one)


def test_a_file_has_no_uid() -> None:
    assert str(provenance(sourced())) == "P/p"
