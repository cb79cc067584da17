"""``policyd webhooks match`` as it is typed: files, folders, Lists, reviews and manifests."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.errors import PolicydError
from policyd.json_types import JSON, JSONObject
from policyd.policy.suite.reviews import build_review
from tests.builders.objects import pod
from tests.builders.webhook_configurations import KINDS, configuration, hook

VALIDATING, MUTATING = KINDS
PROD = {"matchLabels": {"env": "prod"}}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"env": "prod"}}}  # fmt: skip


def run(*arguments: str, text: str = "") -> tuple[int, str, str]:
    result = CliRunner().invoke(policyd, ["webhooks", "match", *arguments], input=text)
    if result.exception and not isinstance(result.exception, SystemExit):
        assert isinstance(result.exception, PolicydError), result.exception
        return result.exception.exit_code, result.stdout, str(result.exception)
    return result.exit_code, result.stdout, result.stderr


def write(path: Path, *documents: JSON) -> str:
    path.write_text("\n---\n".join(map(json.dumps, documents)))
    return str(path)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    mutating = configuration(
        MUTATING,
        hook(name="b.example.com", reinvocationPolicy="IfNeeded"),
        hook(name="a.example.com", namespaceSelector=PROD),
        name="inject",
    )
    write(tmp_path / "mutating.yaml", mutating)
    write(tmp_path / "validating.json", configuration(VALIDATING, hook(), name="check"))
    write(tmp_path / "pod.yaml", pod(namespace="shop"))
    return tmp_path


BOTH = ("-f", "mutating.yaml", "-f", "validating.json")
TEXT = """\
CREATE pods shop/web (v1)
mutating, one after the other:
  1. inject / b.example.com: rules[0] matches
called again if a later one changes the object:
  1. inject / b.example.com: rules[0] matches
validating, at the same time:
  - check / a.example.com: rules[0] matches
not called:
  - mutating inject / a.example.com: namespaceSelector: env=prod (the labels of namespace shop \
are not given)
"""


def test_a_manifest() -> None:
    assert run(*BOTH, "pod.yaml") == (0, TEXT, "")


@pytest.mark.parametrize("given", ["flag", "beside the webhooks", "beside the manifest"])
def test_labels_of_namespaces(given: str, folder: Path) -> None:
    arguments = [*BOTH, "pod.yaml"]
    if given == "flag":
        arguments += ["--namespace-labels", "env=prod"]
    elif given == "beside the webhooks":
        arguments += ["-f", write(folder / "namespaces.yaml", NAMESPACE)]
    else:
        write(folder / "pod.yaml", pod(namespace="shop"), NAMESPACE)
        arguments += ["--select", "Pod/web"]
    status, output, _ = run(*arguments)
    assert status == 0
    assert "  2. inject / a.example.com: rules[0] matches\n" in output


def test_a_folder_and_a_list_as_kubectl_prints_it(folder: Path) -> None:
    assert run("-f", ".", "pod.yaml")[1] == TEXT
    items = [json.loads(Path(name).read_text()) for name in ("validating.json", "mutating.yaml")]
    for each in items:
        each["metadata"] |= {
            "uid": "1",
            "resourceVersion": "5",
            "managedFields": [{"manager": "x"}],
        }
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    assert run("-f", "-", "pod.yaml", text=listed)[1] == TEXT
    # As the API server answers: the items have no kind of their own.
    for each in items:
        kind, version = each.pop("kind"), each.pop("apiVersion")
        write(
            folder / f"{kind}.json", {"kind": f"{kind}List", "apiVersion": version, "items": [each]}
        )
    lists = [f"{kind}.json" for kind in KINDS]
    assert run("-f", lists[0], "-f", lists[1], "pod.yaml")[1] == TEXT


def test_a_review_has_its_own_operation_and_user(folder: Path) -> None:
    condition = {"name": "bob", "expression": "request.userInfo.username == 'bob'"}
    configured = configuration(VALIDATING, hook(matchConditions=[condition]), name="bobs")
    file = write(folder / "bobs.yaml", configured)
    for user, text in (("bob", "rules[0] matches"), ("eve", "matchCondition 'bob' is false")):
        review = write(folder / "review.json", build_review(pod(), user=user))
        assert text in run("-f", file, review)[1]
        assert text in run("-f", file, "pod.yaml", "--user", user)[1]
    deleted = write(folder / "review.json", build_review(pod(), operation="DELETE"))
    assert "rules[0] names pods, but not DELETE" in run("-f", file, deleted)[1]
    assert (
        "rules[0] names pods, but not DELETE"
        in run("-f", file, "pod.yaml", "--operation", "DELETE")[1]
    )


def test_every_rule_that_does_not_match_has_its_reason(folder: Path) -> None:
    rules = [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [name]}
        for name in ("nodes", "pods", "secrets")
    ]
    write(folder / "rules.yaml", configuration(VALIDATING, hook(rules=rules), name="three"))
    words = ("-f", "rules.yaml", "pod.yaml", "--operation", "DELETE")
    assert run(*words)[1].splitlines()[-3:] == [
        "  - validating three / a.example.com: rules[1] names pods, but not DELETE",
        "      rules[0] names nodes, not pods",
        "      rules[2] names secrets, not pods",
    ]
    (found,) = json.loads(run(*words, "--format", "json")[1])["notCalled"]
    assert found["otherRules"] == [
        "rules[0] names nodes, not pods", "rules[2] names secrets, not pods"]  # fmt: skip


def test_json(folder: Path) -> None:
    status, output, _ = run(*BOTH, "pod.yaml", "--format", "json")
    found: JSONObject = json.loads(output)
    assert status == 0
    assert found["request"] == {
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "subResource": "",
        "namespace": "shop",
        "name": "web",
    }
    named = {
        part: [(each["configuration"], each["webhook"]) for each in found[part]]
        for part in ("mutating", "again", "validating", "notCalled", "notKnown")
    }
    assert named == {
        "mutating": [("inject", "b.example.com")],
        "again": [("inject", "b.example.com")],
        "validating": [("check", "a.example.com")],
        "notCalled": [("inject", "a.example.com")],
        "notKnown": [],
    }
    assert found["notCalled"][0]["part"] == "namespaceSelector"
    assert found["rejected"] is None


def test_manifests_have_the_defaults_of_the_api_server(folder: Path) -> None:
    condition = {"name": "a", "expression": "object.spec.restartPolicy == 'Always'"}
    file = write(folder / "one.yaml", configuration(VALIDATING, hook(matchConditions=[condition])))
    assert "validating, at the same time:" in run("-f", file, "pod.yaml")[1]
    output = run("-f", file, "pod.yaml", "--no-defaults")[1]
    assert output.splitlines()[1] == "no webhook is called"
    assert (
        'rejected at case / a.example.com, before it is called: 403 pods "web" is forbidden: '
        "expression 'object.spec.restartPolicy == 'Always'' resulted in error: no such key: "
        "restartPolicy"
    ) in output


def test_several_objects_have_headings(folder: Path) -> None:
    write(folder / "pod.yaml", pod(namespace="shop"), pod(name="db", namespace="shop"))
    output = run(*BOTH, "pod.yaml")[1]
    assert "pod.yaml:1: CREATE pods shop/web (v1)\n" in output
    assert "\n\npod.yaml:3: CREATE pods shop/db (v1)\n" in output
    documents = run(*BOTH, "pod.yaml", "--format", "json")[1].split("\n}\n")
    assert [json.loads(each + "\n}")["line"] for each in documents if each.strip()] == [1, 3]


def test_versions_of_custom_resources_come_from_their_definitions(folder: Path) -> None:
    rule = {
        "operations": ["*"],
        "apiGroups": ["example.com"],
        "apiVersions": ["v1"],
        "resources": ["*"],
    }
    write(folder / "one.yaml", configuration(VALIDATING, hook(rules=[rule])))
    widget = write(
        folder / "widget.yaml",
        {"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "w"}},
    )
    output = run("-f", "one.yaml", widget)[1]
    assert (
        "(as widgets of example.com/v1; if the cluster serves widgets.example.com in v1)" in output
    )
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema}
        for name in ("v1", "v2")
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    definition = write(
        folder / "crd.yaml",
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com",
                "names": names,
                "scope": "Namespaced",
                "versions": versions,
            },
        },
    )
    output = run("-f", "one.yaml", "-f", definition, widget)[1]
    assert "rules[0] matches (as widgets of example.com/v1)" in output


def test_what_the_api_server_would_refuse_is_a_warning(folder: Path) -> None:
    file = write(folder / "bad.yaml", configuration(VALIDATING, hook(timeoutSeconds=60)))
    status, output, errors = run("-f", file, "pod.yaml")
    assert (status, "rules[0] matches" in output) == (0, True)
    assert errors == (
        "bad.yaml:1: warning: the API server refuses ValidatingWebhookConfiguration case: "
        "webhooks[0].timeoutSeconds: Invalid value: 60: the timeout value must be between 1 and 30 "
        "seconds\n"
    )


ERRORS = {
    "no configuration": (("-f", "pod.yaml", "pod.yaml"), "no webhook configurations in pod.yaml"),
    "twice": (("-f", "validating.json", "-f", "copy.json", "pod.yaml"), "two ValidatingWebhookConfigurations"),
    "standard input twice": (("-f", "-", "-"), "-f - and FILE cannot both be standard input"),
    "no file": (("-f", "nowhere.yaml", "pod.yaml"), "'nowhere.yaml' does not exist"),
    "without -f": (("-",), "Missing option '-f' / '--filename'"),
    "options of manifests": (("-f", "validating.json", "review.json", "--user", "bob"), "apply to manifests only"),
    "no request": (("-f", "validating.json", "empty.json"), "request must be an object, not null"),
    "wrong type": (("-f", "wrong.yaml", "pod.yaml"), "cannot unmarshal number into Go struct field"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), ERRORS.values(), ids=ERRORS)
def test_errors(arguments: tuple[str, ...], message: str, folder: Path) -> None:
    write(folder / "copy.json", configuration(VALIDATING, name="check"))
    write(folder / "review.json", build_review(pod()))
    write(folder / "empty.json", {**build_review(pod()), "request": None})
    write(folder / "wrong.yaml", configuration(VALIDATING, hook(name=1)))
    status, _, errors = run(*arguments)
    assert status == 2
    assert message in errors


def test_options_come_from_the_project_file(folder: Path) -> None:
    (folder / "policyd.yaml").write_text("webhooks: {match: {format: json}}\npolicies: [nowhere]\n")
    assert json.loads(run(*BOTH, "pod.yaml")[1])["rejected"] is None
    (folder / "policyd.yaml").write_text("webhooks: {match: {fromat: json}, mtach: {}}\n")
    errors = run(*BOTH, "pod.yaml")[2]
    assert "webhooks.match.fromat: unknown field" in errors
    assert "webhooks.mtach: unknown field" in errors
    (folder / "policyd.yaml").write_text("webhooks: {match: text}\n")
    assert "webhooks.match: expected an object of options" in run(*BOTH, "pod.yaml")[2]


def test_an_unknown_command_of_the_group() -> None:
    result = CliRunner().invoke(policyd, ["webhooks", "mach"])
    assert result.exit_code == 2
    assert "No such command 'mach'. Did you mean 'match'" in result.output
