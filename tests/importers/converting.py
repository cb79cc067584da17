"""Call converters with plain objects, and evaluate what came of them. No tests here."""

import copy
import re
from collections.abc import Callable, Iterator, Sequence

import policyd
from policyd.importers.model import Imported
from policyd.json_types import JSON, FieldPath, JSONObject
from policyd.policy.source.loaded_documents import Document

Converter = Callable[[Document, Sequence[Document]], list[Imported]]

# Values of ``spec`` with which a CustomResourceDefinition is not usable.
BROKEN_DEFINITIONS: list[JSON] = [
    3,
    {"group": "example.com", "names": ["Bus"], "versions": [None]},
    {"group": "example.com", "names": {"kind": "Bus"}, "versions": {}},
    {"names": {"kind": "Bus", "plural": "buses-of-town"}, "versions": []},
]


def document(raw: JSONObject) -> Document:
    """A document of a source with this content."""
    metadata = raw["metadata"]
    return Document(
        raw["kind"],
        raw["apiVersion"],
        metadata["name"],
        metadata.get("namespace", ""),
        "source.yaml",
        0,
        raw,
    )


def converted(convert: Converter, raw: JSONObject, *others: JSONObject) -> Imported:
    """What the only policy of a document became."""
    [found] = convert(document(raw), [document(raw), *map(document, others)])
    return found


def spec_of(imported: Imported) -> JSONObject:
    """The ``spec`` of the only Policy that a policy became."""
    assert not imported.reasons, imported.reasons
    [result] = imported.documents
    spec: JSONObject = result.raw["spec"]
    return spec


def reason_of(imported: Imported) -> str:
    """Why a policy was not imported: the field and the reason."""
    [reason] = imported.reasons
    return f"{reason.path}: {reason.message}"


def messages(imported: Imported, review: JSONObject, *supporting: JSONObject) -> list[str]:
    """The messages of violations of what a policy became, in order."""
    policies = [each.raw for each in imported.documents]
    result = policyd.PolicySet.from_documents(*policies, *supporting).evaluate(review)
    return [each.message for each in result.violations]


def changed(imported: Imported, obj: JSONObject) -> JSON:
    """An object after the mutations of what a policy became."""
    policies = policyd.PolicySet.from_documents(*(each.raw for each in imported.documents))
    result = policies.evaluate(policyd.build_review(obj, defaults=False), "mutate")
    assert result.allowed, result.message
    return result.object


# Values that hardly any field may have.
JUNK: list[JSON] = [
    None,
    True,
    1,
    0.5,
    "",
    "*",
    "x",
    "a.b[",
    "a/b/c/d/e",
    "{{ a",
    "{{ request.object }}",
    [],
    [None],
    [[]],
    [{}],
    ["x"],
    [1],
    {},
    {"x": 1},
    {"x": None},
]


def places(value: JSON, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield where something can be replaced: below metadata and spec, names excepted."""
    entries = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else entries:
        if path or key in ("metadata", "spec"):
            yield (*path, key)
        yield from places(each, (*path, key))


def replaced(source: JSONObject, place: FieldPath, value: JSON) -> JSONObject:
    """A source with another value in one place."""
    found = copy.deepcopy(source)
    parent: JSON = found
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return found


def on_one_line(expression: str) -> str:
    """An expression without the line breaks that the importer writes."""
    return re.sub(r"\n *", " ", re.sub(r"(?<=[(\[])\n *|\n *(?=[)\]])", "", expression))
