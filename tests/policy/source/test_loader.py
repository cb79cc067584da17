"""Files to documents: what is read, how it is split, and where every problem is."""

import gzip
from datetime import date
from pathlib import Path

import orjson
import pytest

from policyd.errors import PolicySchemaError
from policyd.json_types import JSON, JSONObject
from policyd.policy.model.kinds import Policy
from policyd.policy.source.loader import load, load_text, require
from policyd.policy.source.splitting import read_values
from tests.builders.policies import map_, policy, suite, vap, vap_binding
from tests.policy_sets import loaded

BROKEN = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: Bad_name
spec:
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: |

      object.spec
        .x == 1
    mesage: typo
  - expression: 'true'
    reason: forbidden
    message: yes
---
a: {b
---
kind: ConfigMap
---
just a text
"""


def text(*documents: JSONObject) -> str:
    return "\n---\n".join(orjson.dumps(each).decode() for each in documents)


def test_all_problems_of_all_documents_are_told_with_their_places() -> None:
    found = load_text(BROKEN, "f.yaml").problems
    assert [(each.line, each.column, each.path) for each in found] == [
        (4, 9, "metadata.name"),
        (15, 5, "spec.validations[0].mesage"),
        (17, 13, "spec.validations[1].reason"),
        (18, 14, "spec.validations[1].message"),
        (20, 4, ""),
        (22, 1, ""),
        (24, 1, ""),
    ]
    assert found[1].hint == "did you mean message?"
    assert found[2].hint == "write Forbidden"
    assert found[2].excerpt == "        reason: forbidden\n                ^"
    assert "put it in quotes" in found[3].hint
    assert all(each.file == "f.yaml" for each in found)


ODD = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: "a%sb"}
spec:
  matchConstraints: !x all
  validations:
  - expression: 'true'
    mesage: typo
---
a: "%s
"""


@pytest.mark.parametrize("character", ["\r", "\x85", "\u2028", "\u2029"])
def test_only_newlines_end_lines_although_yaml_has_others(character: str) -> None:
    usual, odd = (
        load_text(ODD % (each * 9, each * 9), "f.yaml").problems for each in (" ", character)
    )
    assert len(usual) > 3
    assert [(each.line, each.path) for each in odd] == [(each.line, each.path) for each in usual]


def test_a_broken_document_keeps_what_can_be_read() -> None:
    document = load_text(BROKEN, "f.yaml").documents[0]
    assert document.model is None
    assert (document.kind, document.name) == ("ValidatingAdmissionPolicy", "Bad_name")
    assert document.failure_policy == "Ignore"
    assert document.match_constraints is not None
    assert document.match_constraints.resource_rules[0].resources == ("pods",)
    assert document.raw["spec"]["validations"][0]["mesage"] == "typo"


def test_constraints_with_problems_are_not_readable() -> None:
    document = loaded(vap(matchConstraints={"resourceRules": []})).documents[0]
    assert document.match_constraints is None


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("", (1, 1)),
        ("kind", (2, 7)),
        ("spec.validations[0].expression", (12, 7)),
        ("spec.validations[1].expression", (16, 18)),
        ("spec.validations[1].nope.deeper", (16, 5)),
        ("spec.matchConstraints.resourceRules[0].apiGroups[0]", (9, 21)),
    ],
)
def test_places_are_where_the_text_begins(path: str, place: tuple[int, int]) -> None:
    assert load_text(BROKEN, "f.yaml").documents[0].place(path) == place


def test_places_behind_a_separator_in_a_list_and_of_odd_keys() -> None:
    source = (
        "# first\n---\napiVersion: v1\nkind: List\nitems:\n"
        "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n"
        "    labels: {app.kubernetes.io/name: x}\n"
    )
    document = load_text(source).documents[0]
    assert document.place("metadata.name") == (9, 11)
    assert document.place("metadata.labels[app.kubernetes.io/name]") == (10, 38)
    assert document.origin.find("metadata.labels[app.kubernetes.io/name]", at_key=True) == (10, 14)


def test_a_place_in_json_with_tabs_and_surrogates() -> None:
    source = '{\n\t"apiVersion": "v1",\n\t"kind": "X",\n\t"metadata": {"name": "a"}\n}'
    assert load_text(source).documents[0].place("metadata.name") == (4, 24)
    pair = '{"apiVersion": "v1", "kind": "X", "a": "\\ud83d\\ude00"}'
    document = load_text(pair).documents[0]
    assert document.raw["a"] == "😀"
    assert document.place("a") == (1, 1)


IN_TEXTS = """\
literal: |
  a &&

    nowhere == 1
folded: >-
  a &&
  nowhere == 1
plain: a && nowhere == 1
wrapped: a &&
    nowhere == 1
single: 'a != ''x'' && nowhere == 1'
double: "a != \\"x\\" && nowhere == 1"
list: {}
"""


@pytest.mark.parametrize("field", ["literal", "folded", "plain", "wrapped", "single", "double"])
def test_places_inside_texts_are_those_of_the_file(field: str) -> None:
    source = f"apiVersion: v1\nkind: X\n---\napiVersion: v1\nkind: Z\n{IN_TEXTS}"
    document = load_text(source).documents[1]
    before, _, _ = str(document.raw[field]).partition("nowhere")
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    row, at = document.origin.find_in(field, line, column)
    assert source.split("\n")[row - 1][at - 1 :].startswith("nowhere")


def test_a_place_outside_of_a_text_is_its_beginning() -> None:
    document = load_text(f"apiVersion: v1\nkind: X\n{IN_TEXTS}").documents[0]
    assert document.origin.find_in("plain", 9, 9) == document.place("plain")
    assert document.origin.find_in("plain", 0, 0) == document.place("plain")
    assert document.origin.find_in("list", 1, 1) == document.place("list")


def test_lists_are_unrolled() -> None:
    typed = {
        "apiVersion": "v1",
        "kind": "ConfigMapList",
        "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}],
    }
    both = {"apiVersion": "v1", "kind": "List", "items": [typed, policy("own")]}
    documents = loaded(both).documents
    assert [(each.kind, each.api_version, each.name, each.index) for each in documents] == [
        ("ConfigMap", "v1", "a", 0),
        ("ConfigMap", "v1", "b", 1),
        ("Policy", "policyd.dev/v1", "own", 2),
    ]


def test_empty_documents_comments_and_directives_are_no_documents() -> None:
    source = "# nothing\n---\n---\n%YAML 1.1\n---\nkind: X\napiVersion: v1\n...\n---\n# end\n"
    sources = load_text(source)
    assert [each.kind for each in sources.documents] == ["X"]
    assert sources.problems == ()
    assert load_text("").documents == ()


def test_other_objects_are_parameters() -> None:
    kyverno = {"apiVersion": "kyverno.io/v1", "kind": "Policy", "metadata": {"name": "a"}}
    hook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "a"},
    }
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    sources = loaded(kyverno, hook, kustomization)
    assert sources.problems == ()
    assert [(each.model, each.is_policy) for each in sources.documents[:1]] == [(None, False)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"apiVersion": "admissionregistration.k8s.io/v1alpha1"},
            "admissionregistration.k8s.io/v1alpha1 has no kind ValidatingAdmissionPolicy",
        ),
        ({"apiVersion": "v1"}, "policyd does not read kind ValidatingAdmissionPolicy of v1"),
        ({"apiVersion": "policyd.dev/v2", "kind": "Policy"}, "policyd.dev/v2 has no kind Policy"),
        ({"apiVersion": "policyd.dev/v1", "kind": "Polcy"}, "policyd.dev/v1 has no kind Polcy"),
        ({"kind": "ValidatingAdmissionPolices"}, "has no kind ValidatingAdmissionPolices"),
        ({"kind": None}, "kind must be a string"),
        ({"metadata": 5}, "expected an object, got 5"),
        ({"spec": []}, "expected an object, got a list"),
    ],
)
def test_what_is_meant_as_a_policy_is_never_a_parameter(changes: JSONObject, message: str) -> None:
    sources = loaded({**vap(), **changes})
    assert any(message in each.message for each in sources.problems), sources.problems


def test_a_kind_that_yaml_takes_for_a_boolean_is_explained() -> None:
    problem = load_text("apiVersion: v1\nkind: Y\n").problems[0]
    assert "kind must be a string" in problem.message
    assert "put it in quotes" in problem.hint


def test_names_are_unique() -> None:
    sources = loaded(vap("a"), map_("a"), vap("a"), policy("b"), vap("b"), policy("a"))
    assert [each.message for each in sources.problems] == [
        "ValidatingAdmissionPolicy a is defined twice: first in t.yaml:1",
        "ValidatingAdmissionPolicy b has the same name as the Policy in t.yaml:4",
        "Policy a has the same name as the ValidatingAdmissionPolicy in t.yaml:1",
    ]
    assert [each.model is None for each in sources.documents] == [
        False,
        False,
        True,
        False,
        True,
        True,
    ]


def test_parameters_are_unique_in_their_namespace() -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}}
    other = {**config, "metadata": {"name": "a", "namespace": "y"}}
    assert loaded(config, other).problems == ()
    assert "ConfigMap x/a is defined twice" in loaded(config, config).problems[0].message


def test_directories_are_read_as_a_mounted_config_map_has_them(tmp_path: Path) -> None:
    real = tmp_path / "..2026_11_21"
    real.mkdir()
    (real / "b.yaml").write_text(text(vap("b")))
    (tmp_path / "..data").symlink_to(real.name)
    (tmp_path / "b.yaml").symlink_to("..data/b.yaml")
    (tmp_path / ".hidden.yaml").write_text("not: [yaml")
    (tmp_path / "README.md").write_text("not: [yaml")
    (tmp_path / "a.yml.gz").write_bytes(gzip.compress(text(vap("a")).encode()))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.json").write_text(text(vap("c")))
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    sources = load([tmp_path, tmp_path / "b.yaml"])
    assert sources.problems == ()
    assert [each.name for each in sources.documents] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("absent.yaml", None, "no such file or directory"),
        ("bad.yaml.gz", b"no gzip", "cannot be read: Not a gzipped file"),
        (
            "cut.yaml.gz",
            gzip.compress(b"a: 1" * 100, mtime=0)[:20],
            "cannot be read: Compressed file",
        ),
        ("latin.yaml", b"a: 1\nb: \xe9\n", "not valid UTF-8"),
    ],
)
def test_files_that_cannot_be_read_are_problems(
    tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    (tmp_path / "good.yaml").write_text(text(vap()))
    sources = load([tmp_path / name, tmp_path / "good.yaml"])
    assert len(sources.documents) == 1
    assert message in sources.problems[0].message
    assert sources.problems[0].file == str(tmp_path / name)


def test_files_that_suites_name_are_fixtures(tmp_path: Path) -> None:
    case = {"name": "a", "request": {"objectFile": "pod.yaml"}, "expect": {"allowed": True}}
    (tmp_path / "suite.yaml").write_text(text(suite(cases=[case])))
    (tmp_path / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\nbad")
    (tmp_path / "policy.yaml").write_text(text(policy()))
    sources = load([tmp_path])
    assert sources.problems == ()
    assert [each.kind for each in sources.documents] == ["Policy", "PolicyTest"]


def test_the_generation_follows_the_bytes_not_the_place(tmp_path: Path) -> None:
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "p.yaml").write_text(text(vap("c" if folder == "c" else "a")))
    one, two, other = (load([tmp_path / folder]).generation for folder in ("a", "b", "c"))
    assert one == two
    assert one != other


def test_require_raises_everything_at_once() -> None:
    with pytest.raises(PolicySchemaError) as caught:
        require(load_text(BROKEN, "f.yaml"))
    assert len(caught.value.problems) == 7
    assert not require(loaded(vap(), vap_binding())).problems


def test_dates_of_exceptions_are_dates() -> None:
    document = loaded(policy(exceptions=[{"name": "a", "until": "2027-03-31"}])).documents[0]
    assert isinstance(document.model, Policy)
    assert document.model.spec.exceptions[0].until == date(2027, 3, 31)


def test_json_documents_between_separators_may_have_surrogate_escapes() -> None:
    first = (
        '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},'
        ' "data": {"k": "\\ud83d\\ude00"}}'
    )
    second = first.replace('"a"', '"b"')
    sources = load_text(f"{first}\n---\n{second}\n---\nkind: 5\n")
    assert [document.raw["data"]["k"] for document in sources.documents[:2]] == ["😀", "😀"]
    assert sources.documents[1].place("metadata.name")[0] == 3


FIRST: JSON = {"a": 1}
SECOND: JSON = {"b": 2}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a: 1\n---\nb: 2\n", [FIRST, SECOND]),
        ("---\na: 1\n---\nb: 2\n---", [FIRST, SECOND]),
        ("---\n---\na: 1\n---\n---\nb: 2\n", [FIRST, SECOND]),
        ("--- \na: 1\n---\t\nb: 2\n", [FIRST, SECOND]),
        ("---\r\na: 1\r\n---\r\nb: 2\r\n", [FIRST, SECOND]),
        ("--- {a: 1}\n--- # another\nb: 2\n", [FIRST, SECOND]),
        ("a: 1\n... \n---\nb: 2\n", [FIRST, SECOND]),
        ("a: |-\n  ---\n  x\n---\nb: 2\n", [{"a": "---\nx"}, SECOND]),
        ("---a: 1\n---\nb: 2\n", [{"---a": 1}, SECOND]),
        ("----: 1\n----a: 2\n", [{"----": 1, "----a": 2}]),
        ("a: 1\n--", []),
        ("---", []),
        ("", []),
    ],
)
def test_documents_are_separated_by_lines_of_three_dashes(text: str, values: list[JSON]) -> None:
    assert read_values("text", text.encode())[0] == values
