"""Mutated manifests as text: comments, quotes and order stay, and the values are the new ones."""

import copy
import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policyd.cli.apply.rewriting import Rewritten, rewritten
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.splitting import split
from policyd.policy.source.yaml_output import dump
from tests.sampling import examples

POD = """\
# The shop's frontend.
apiVersion: v1
kind: Pod  # not a Deployment
metadata:
  # who pays
  labels: {team: shop}
  name: "web"
spec:
  containers:
  # the program
  - name: web
    image: "web:1"   # pinned
    args:
    - --verbose
    env:
    - {name: A, value: "1"}
  # the proxy
  - name: proxy
    image: proxy:1
    command: |
      run
      it

  hostNetwork: true  # sorry
  restartPolicy:

# the end
"""


def change(text: str, *paths: tuple[str, JSON], name: str = "a.yaml") -> str:
    """The text with values set; None removes; the values are verified."""
    documents, problems = split(name, text.encode())
    assert problems == []
    changed = []
    for document in documents:
        after = copy.deepcopy(document.raw)
        for path, value in paths:
            _set(after, path, value)
        changed.append(Rewritten(document, after))
    result = rewritten(text, changed)
    found, problems = split(name, result.encode())
    assert problems == []
    assert [each.raw for each in found] == [each.after for each in changed]
    return result


def _set(value: Any, path: str, new: JSON) -> None:
    *parents, last = path.split("/")
    for part in parents:
        value = value[int(part) if isinstance(value, list) else part]
    key: Any = int(last) if isinstance(value, list) else last
    if new is None:
        del value[key]
    elif isinstance(value, list):
        value.insert(key, new)
    else:
        value[key] = new


def lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that are gone, and those that are new."""
    old, new = before.splitlines(), after.splitlines()
    return [each for each in old if each not in new], [each for each in new if each not in old]


KEPT: list[tuple[str, list[tuple[str, JSON]], list[str], list[str]]] = [
    ("a field of the top", [("extra", 1)], [], ["extra: 1"]),
    ("a scalar", [("kind", "Job")], ["kind: Pod  # not a Deployment"],
     ["kind: Job  # not a Deployment"]),
    ("a quoted string keeps its quotes", [("spec/containers/0/image", "r/web:1")],
     ['    image: "web:1"   # pinned'], ['    image: "r/web:1"   # pinned']),
    ("a label of a flow", [("metadata/labels/env", "on")],
     ["  labels: {team: shop}"], ["  labels: {team: shop, env: 'on'}"]),
    ("a field below a comment", [("metadata/annotations", {"a/b": "y"})], [],
     ["  annotations:", "    a/b: 'y'"]),
    ("a field of the first of two items", [("spec/containers/0/resources", {"limits": {"cpu": 1}})],
     [], ["    resources:", "      limits:", "        cpu: 1"]),
    ("a field after a block", [("spec/containers/1/tty", True)], [], ["    tty: true"]),
    ("an item of a list", [("spec/containers/0/args/1", "-x")], [], ["    - -x"]),
    ("a first item", [("spec/containers/0", {"name": "init", "image": "i"})], [],
     ["  - name: init", "    image: i"]),
    ("a last item", [("spec/containers/2", {"name": "last"})], [], ["  - name: last"]),
    ("a field is removed", [("spec/hostNetwork", None)], ["  hostNetwork: true  # sorry"], []),
    ("an item is removed", [("spec/containers/0/args/0", None), ("spec/containers/0/args", ["b"])],
     ["    - --verbose"], ["    - b"]),
    ("a value for nothing", [("spec/restartPolicy", "Always")], ["  restartPolicy:"],
     ["  restartPolicy: Always"]),
    ("a mapping for nothing", [("spec/restartPolicy", {"a": 1})], [], ["    a: 1"]),
    ("a block", [("spec/containers/1/command", "a\nb\n")], ["      run", "      it"],
     ["      a", "      b"]),
    ("a mapping for a list", [("spec/containers/0/args", {"a": 1})],
     ["    - --verbose"], ["      a: 1"]),
    ("an empty mapping", [("metadata/labels", {})], ["  labels: {team: shop}"], ["  labels: {}"]),
    ("several at once",
     [("spec/containers/0/tty", True), ("spec/x", 1), ("z", [1]), ("metadata/labels/b", "c")],
     ["  labels: {team: shop}"],
     ["  labels: {team: shop, b: c}", "    tty: true", "  x: 1", "z:", "- 1"]),
]  # fmt: skip


@pytest.mark.parametrize("name, paths, gone, new", KEPT, ids=[row[0] for row in KEPT])
def test_only_what_changed_is_rewritten(
    name: str, paths: list[tuple[str, JSON]], gone: list[str], new: list[str]
) -> None:
    assert lines(POD, change(POD, *paths)) == (gone, new)


def test_line_breaks_stay_those_of_the_file() -> None:
    windows = POD.replace("\n", "\r\n")
    after = change(windows, ("metadata/annotations", {"a": "b", "c": "d"}))
    assert after.count("\n") == after.count("\r\n") == windows.count("\n") + 3


STREAM = f"""\
---
# Source: chart/templates/service.yaml
apiVersion: v1
kind: Service
metadata: {{name: web}}
---
# Source: chart/templates/pod.yaml
{POD}---
# only a comment
"""


def test_other_documents_of_a_file_stay_as_they_are() -> None:
    documents, _ = split("-", STREAM.encode())
    after = {**documents[1].raw, "spec": {**documents[1].raw["spec"], "new": 1}}
    listed = [Rewritten(documents[0], documents[0].raw), Rewritten(documents[1], after)]
    assert lines(STREAM, rewritten(STREAM, listed)) == ([], ["  new: 1"])


LIST = """\
apiVersion: v1
kind: List
items:
# one
- apiVersion: v1
  kind: Pod
  metadata: {name: a}
# two
- {apiVersion: v1, kind: Pod, metadata: {name: b}}
"""


def test_a_list_stays_a_list() -> None:
    after = change(LIST, ("metadata/labels", {"x": "y"}))
    assert lines(LIST, after)[1] == [
        "  metadata: {name: a, labels: {x: 'y'}}",
        "- {apiVersion: v1, kind: Pod, metadata: {name: b, labels: {x: 'y'}}}",
    ]


ANCHORS = """\
# Source: chart/templates/pod.yaml
apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: &labels {a: b}
  annotations: *labels
---
# kept
apiVersion: v1
kind: Service
metadata: {name: web}
"""


def test_only_a_document_that_cannot_be_edited_is_written_anew() -> None:
    documents, _ = split("-", ANCHORS.encode())
    pod = copy.deepcopy(documents[0].raw)
    pod["metadata"]["annotations"] = {"a": "c"}
    changed = [Rewritten(documents[0], pod), Rewritten(documents[1], documents[1].raw)]
    result = rewritten(ANCHORS, changed)
    assert list(yaml.safe_load_all(result)) == [pod, documents[1].raw]
    assert result.startswith("# Source: chart/templates/pod.yaml\napiVersion: v1\n")
    assert result.endswith(ANCHORS[ANCHORS.index("---") :])


def test_a_list_that_cannot_be_edited_stays_a_list() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- &a {apiVersion: v1, kind: Pod}\n- *a\n"
    documents, _ = split("-", text.encode())
    changed = [Rewritten(documents[0], {**documents[0].raw, "x": 1}),
               Rewritten(documents[1], documents[1].raw)]  # fmt: skip
    value = yaml.safe_load(rewritten(text, changed))
    assert (value["kind"], [each.get("x") for each in value["items"]]) == ("List", [1, None])


JSONS = [
    ('{"apiVersion": "v1", "kind": "Pod", "spec": {}}', "spec/a"),
    ('{\n  "apiVersion": "v1",\n  "kind": "Pod",\n  "spec": {\n    "b": [\n      1\n    ]\n  }\n}\n',
     "spec/a"),
    ('{"apiVersion": "v1", "kind": "Pod"} {"apiVersion": "v1", "kind": "Pod"}\n', "a"),
    ('{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod"}]}', "a"),
    ('{"apiVersion": "v1", "kind": "Pod", "x": "\\ud83d\\ude00"}', "a"),
]  # fmt: skip


@pytest.mark.parametrize("text, path", JSONS)
@pytest.mark.parametrize("value", ["yes", {"b": [1, "x"]}, 5])
def test_json_stays_json(text: str, path: str, value: JSON) -> None:
    after = change(text, (path, value), name="a.json")
    decoder, at = json.JSONDecoder(), 0
    while at < len(after.rstrip()):
        _, at = decoder.raw_decode(after, at + len(after[at:]) - len(after[at:].lstrip()))
    assert at == len(after.rstrip())


def test_json_with_a_line_for_each_field_keeps_its_form() -> None:
    before = JSONS[1][0]
    assert lines(before, change(before, ("spec/a", {"c": 1}), name="a.json"))[1] == [
        "    ],", '    "a": {', '      "c": 1', "    }",
    ]  # fmt: skip


WORDS = st.sampled_from(["a", "b", "name", "yes", "1", "a b", "#x", "x: y", "é", "", "a\nb\n", "~"])
SCALARS = st.one_of(WORDS, st.none(), st.booleans(), st.integers(-3, 3), st.just(1.5))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(WORDS, VALUES, max_size=4)
STYLES = st.sampled_from(["block", "flow", "json", "wide json", "mixed"])


def styled(value: JSONObject, style: str) -> str:
    if style == "json":
        return json.dumps(value)
    if style == "wide json":
        return json.dumps(value, indent=4)
    if style == "mixed":
        text: str = yaml.safe_dump(value, sort_keys=False, width=20, default_flow_style=None)
        return text
    return dump(value, flow=style == "flow")


@settings(max_examples=examples(400), deadline=None)
@given(before=OBJECTS, after=OBJECTS, style=STYLES)
def test_the_text_has_the_new_values_in_every_style(
    before: JSONObject, after: JSONObject, style: str
) -> None:
    head = {"apiVersion": "v1", "kind": "Pod"}
    text = styled({**head, **before}, style)
    documents, problems = split("a.yaml", text.encode())
    assert problems == []
    result = rewritten(text, [Rewritten(documents[0], {**head, **after})])
    found, problems = split("a.yaml", result.encode())
    assert problems == []
    assert found[0].raw == {**head, **after}
    if "json" in style:
        json.loads(result)
