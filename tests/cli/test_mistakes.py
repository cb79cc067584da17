"""Mistakes in documents and commands: each is answered with its place and a remedy.

Those of first policies, with what they are about, are in first_tries.
"""

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd

POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: m}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
  failurePolicy: Fail
  validations:
  - expression: object.metadata.name != 'x'
    message: the name x is taken
"""
SUITE = """\
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: s}
policies: [policy.yaml]
cases:
- name: a
  request:
    object: {apiVersion: v1, kind: Pod, metadata: {name: web}}
  expect: {allowed: true}
"""
EXCEPTION = """\
apiVersion: policyd.dev/v1
kind: PolicyException
metadata: {name: e}
spec:
  policies: [{name: m}]
  reason: legacy
  resources:
  - {kinds: [Pod], namespaces: [a]}
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec:
  policyName: m
  validationActions: [Deny]
"""
ROLLOUT = """\
apiVersion: policyd.dev/v1
kind: Rollout
metadata: {name: r}
spec:
  policyName: m
  enforce: {percent: 5}
"""
POD = (
    "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: a, image: b}]}\n"
)
FAIL = "  failurePolicy: Fail\n"
MESSAGE = "message: the name x is taken"
PARAM_KIND = "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"

# A document, what is replaced in it by what, the place that is named, and the remedy.
DOCUMENTS = [
    (POLICY, "matchConstraints:", "matchConstraint:", "5:3", "did you mean matchConstraints?"),
    (POLICY, "resourceRules:", "rules:", "6:5", "write resourceRules"),
    (POLICY, "{name: m}", "{name: My_Policy}", "3:18", "write my-policy"),
    (POLICY, "failurePolicy: Fail", "failurePolicy: Deny", "8:18", "write Fail"),
    (POLICY, "failurePolicy: Fail", "failurePolicy: open", "8:18", "write Ignore"),
    (POLICY, FAIL, "  matchPolicy: Exact\n", "8:3", "move it to matchConstraints"),
    (POLICY, FAIL, "  validationActions: [Warning]\n", "8:23", "write Warn"),
    (POLICY, FAIL, "  validationActions: [Dney]\n", "8:23", "did you mean Deny?"),
    (POLICY, "[CREATE, UPDATE]", "[CREAT]", "7:57", "did you mean CREATE?"),
    (POLICY, FAIL, "  reinvocationPolicy: Always\n", "8:23", "write IfNeeded"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: Unauthorized", "12:13", "write Forbidden"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: Forbiden", "12:13", "did you mean Forbidden?"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: BadRequest", "12:13", "write Invalid"),
    (POLICY, MESSAGE, f"{MESSAGE}\n    reason: TooLarge", "12:13", "write RequestEntityTooLarge"),
    (POLICY, FAIL, f"{PARAM_KIND}  paramRef: {{name: a, parameterNotFoundAction: Ignore}}\n",
     "9:48", "write Allow"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "configmap"), "8:37", "write ConfigMap"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "ConfigMaps"), "8:37", "write ConfigMap"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "Confgmap"), "8:37", "did you mean ConfigMap?"),
    (POLICY, FAIL, PARAM_KIND.replace("ConfigMap", "Ingress"), "8:27", "write networking.k8s.io/v1"),
    (POLICY, FAIL, PARAM_KIND.replace("v1", "core/v1"), "8:27", "write v1"),
    (POLICY, FAIL, "  validationActions: Deny\n", "8:22", "write [Deny]"),
    (POLICY, "[CREATE, UPDATE]", "'CREATE,UPDATE'", "7:57", "write [CREATE, UPDATE]"),
    (POLICY, "[CREATE, UPDATE]", "'*'", "7:57", 'write ["*"]'),
    (POLICY, FAIL, "  validationActions: [Deny, Warn]\n", "8:22", "remove Warn"),
    (POLICY, FAIL, "  timeoutSeconds: 60\n", "8:19", "Invalid value: 60: must be more than 0"),
    (POLICY, FAIL, "  params: [a]\n", "8:11", "write NAME: VALUE"),
    (POLICY, FAIL, "  variables: [{name: my-team, expression: '1'}]\n", "8:22", "write my_team"),
    (POLICY, FAIL, "  rollout: {percent: 25}\n", "8:13", "write enforce: {percent: …}"),
    (POLICY, "apiVersions: [v1], ", "", "7:7", "write apiVersions: [v1]"),
    (POLICY, 'apiGroups: [""], ', "", "7:7", 'write apiGroups: [""], the core group'),
    (POLICY, "operations: [CREATE, UPDATE], ", "", "7:7", "write operations: [CREATE, UPDATE]"),
    (POLICY, ", resources: [pods]", "", "7:7", "write plurals in lower case: resources: "),
    (POLICY, FAIL, "  objectSelector: {}\n", "8:3", "move it to matchConstraints"),
    (POLICY, "  resourceRules:", "  objectSelector: {env: a}\n    resourceRules:", "6:22",
     "write matchLabels: {env: …}"),
    (POLICY, FAIL, "  mutations: [{patchType: JSONPatch, jsonPatch: [{op: add}]}]\n", "8:49",
     "write expression: '[JSONPatch{op: \"add\""),
    (POLICY, FAIL, "  mutations: [{patchType: MergePatch}]\n", "8:27", "write Overlay"),
    (POLICY, "  resourceRules:", "  objectSelector: {matchLabels: {y: a}}\n    resourceRules:", "6:36",
     'matchLabels.y: YAML reads y as true [unquoted-value]'),
    (POLICY, "  resourceRules:", "  objectSelector: {matchLabels: {1.10: a}}\n    resourceRules:",
     "6:36", 'write "1.10", in quotes'),
    (POLICY, "  resourceRules:", "  objectSelector: {matchLabels: {no: {}}}\n    resourceRules:", "6:40",
     "matchLabels.no: expected a string, got an object"),
    (POLICY, "{name: m}", "{name: m, labels: {on: a b}}", "3:34", "labels.on: Invalid value"),
    (POLICY, "{name: m}", "{name: m, labels: {on: 1}}", "3:30", 'write "on", in quotes'),
    (POLICY, "{name: m}", "{name: m, labels: {y: a, on: b}}", "3:36", "put on in quotes"),
    (POLICY, FAIL, "  off: Fail\n", "8:3", 'unknown field "off"'),
    (SUITE, "name: web", "name: web, labels: {y: a}", "8:72", 'write "y", in quotes'),
    (POLICY, "the name x is taken", "|\n      one\n      two", "12:7", "write >- instead of |"),
    (SUITE, "[policy.yaml]", "policy.yaml", "4:11", "write [policy.yaml]"),
    (SUITE, "object: {", "manifest: {", "8:5", "write object"),
    (SUITE, "cases:", "tests:", "5:1", "write cases"),
    (EXCEPTION, "[{name: m}]", "[m]", "5:14", 'write {name: "m"}'),
    (EXCEPTION, "policies: [{name: m}]", "policyName: m", "5:3", "write policies: [{name: …}]"),
    (EXCEPTION, "reason: legacy", "match: {}", "6:3", "write resources, a list of {kinds, "),
    (EXCEPTION, "[Pod]", "[pods]", "8:14", "write Pod"),
    (EXCEPTION, "[Pod]", "[apps/deployment]", "8:14", "write apps/Deployment"),
    (POLICY, FAIL, "  exceptions: [{name: e, reason: r, validations: [length]}]\n", "8:51",
     "write name: length in it"),
    (ROLLOUT, "policyName: m", "policyName: mm", "5:15", "did you mean m?"),
    (EXCEPTION, "[{name: m}]", "[{name: mm}]", "5:21", "did you mean m?"),
    (BINDING, "  policyName: m", "  policyName: m\n  namespaceSelector: {}", "6:3",
     "move it to matchResources"),
    (POLICY, "object.metadata.name != 'x'", "authorizer.check('get', 'pods')", "10:33",
     "write authorizer.group('apps').resource('deployments').check('get').allowed()"),
    (POLICY, "object.metadata.name != 'x'", "\"'${object.metadata.name}' != 'x'\"", "10:18",
     "nothing is replaced in a string: write object.metadata.name without quotes"),
    (BINDING, "\n  validationActions: [Deny]", "", "5:3", "write validationActions: [Deny]"),
    (POLICY, "- expression: object", "  expression: object", "10:5",
     "write '- ' before its first field: - expression: …"),
    (POLICY, "  validations:", "  auditAnnotations: {images: a}\n  validations:", "9:21",
     "write a list of auditAnnotations: - {key: images, valueExpression: …}"),
    (POLICY, FAIL, "  auditAnnotations: [{key: a, value: b}]\n", "8:31", "write valueExpression"),
    (POLICY, "    resourceRules:\n    -", "  -", "6:3", "write resourceRules: before the list"),
    (POLICY, "[CREATE, UPDATE]", "['create,UPDATE']", "7:58", "write CREATE, UPDATE, each as"),
    (POLICY, "resources: [pods]", "kinds: [Pod]", "7:74", "write resources, the plurals"),
    (POLICY, "    resourceRules:", "    objectSelector: app=web,tier!=db\n    resourceRules:", "6:21",
     "write {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: NotIn, "),
    (POLICY, "    resourceRules:", "    excludedNamespaces: [a]\n    resourceRules:", "6:5",
     "key: kubernetes.io/metadata.name, operator: NotIn"),
    (POLICY, "expression: object.metadata.name != 'x'", "pattern: 'spec.hostNetwork: false'", "10:15",
     "write {spec: {hostNetwork: false}}"),
    (POLICY, "expression: object.metadata.name != 'x'", "anyPattern: {spec: {a: b}}", "10:17",
     "write '- ' before its first field: - spec: …"),
    (POLICY, FAIL, "  mutations: [{overlay: {metadata: {}}}]\n", "8:15", "write patchType: Overlay"),
    (POLICY, FAIL, "  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {spec: {}}}]\n",
     "8:68", "write expression: 'Object{…}', or in a Policy an Overlay"),
    (POLICY, FAIL, "  paramRef: {name: a, parameterNotFoundAction: Deny}\n", "5:3",
     "write paramKind, such as {apiVersion: v1, kind: ConfigMap}"),
    (POLICY, FAIL, "  exceptions: [{name: a, reason: b, resources: []}]\n", "8:37",
     "write namespaces and names here"),
    (POLICY, "  validations:", "validations:", "9:1", "indent it: it belongs below spec"),
    (POLICY, "metadata: {name: m}", "name: m", "3:1", "indent it: it belongs below metadata"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchLabels: {a: 'b-*'}}\n    resourceRules:", "6:40",
     "labels have no wildcards: write matchExpressions, operator: In and each value"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchExpressions: [{key: a, operator: In}]}\n    resourceRules:", "6:41",
     "write values: [VALUE], or operator: Exists for any value"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}\n"
     "    resourceRules:", "6:76", "write operator: In"),
    (POLICY, "    resourceRules:",
     "    objectSelector: {matchExpressions: [{key: a, operator: Equals, values: [b]}]}\n"
     "    resourceRules:", "6:60", "write In"),
    (POLICY, FAIL, "  matchConditions: [{name: not me, expression: 'true'}]\n", "8:28",
     "write not-me"),
    (POLICY, FAIL, "  timeoutSeconds: 10s\n", "8:19", "write 10, without s and quotes"),
    (POLICY, FAIL, "  mutations:\n  - patchType: Overlay\n    overlay: |\n      spec: {}\n", "11:7",
     "write its fields without '|' and quotes"),
    (POLICY, FAIL, "  mutations: [{patchType: Overlay, overlay: {'+(spec': {}}}]\n", "8:47",
     "the marks are (key)"),
    (POLICY, FAIL, "  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "
     "'[{\"op\": \"add\", \"path\": \"/a\", \"value\": 1}]'}}]\n", "8:101",
     "write JSONPatch{op: 'add', path: …, value: …} in place of the map"),
    (POLICY, "expression: object.metadata.name != 'x'", "pattern: {metadata: {name: '!= a'}}", "10:33",
     "write !a"),
    (POLICY, "object.metadata.name != 'x'", "object.spec.containers.all(item, iten.name != '')", "10:50",
     "did you mean item?"),
    (POLICY, "object.metadata.name != 'x'", "object.metadata.labels.exists('a')", "10:46",
     "write 'a' in object.metadata.labels"),
    (POLICY, FAIL, "  exceptions: [{name: [a], reason: b, namespaces: [c]}]\n", "8:23",
     "write a, without [ ] and '- '"),
    (POLICY, FAIL, "  exceptions: [{name: a, reason: b, validations: [0]}]\n", "8:51",
     "write the name of a validation; only a PolicyException takes indexes"),
    (POLICY, FAIL, "  paramKind: v1/ConfigMap\n", "8:14", "write {apiVersion: v1, kind: ConfigMap}"),
    (POLICY, FAIL, "  paramKind: {group: '', kind: ConfigMap}\n", "8:15",
     "write apiVersion: GROUP/VERSION, or v1 for the core group"),
    (POLICY, FAIL, "  paramKind: {apiVersion: v1, kind: ConfigMap}\n"
     "  paramRef: {name: a, parameterNotFoundAction: Fail}\n", "9:48", "write Deny"),
    (BINDING, "policyName: m", "policyName: m\n  # the kind needs none", "5:15",
     "remove it: a Policy has no binding"),
    (ROLLOUT, "policyName: m", "policyName: mm", "5:15", "did you mean m?"),
    (ROLLOUT, "spec:\n  policyName: m\n  enforce", "policyName: m\nenforce", "4:1", "indent it: "),
    (SUITE, "policies: [policy.yaml]", "spec: {policies: [policy.yaml]}", "4:1",
     "write cases and policies beside metadata"),
    (SUITE, "  request:", "  request:\n    resource: pods", "8:15",
     'write {group: "", version: v1, resource: pods}'),
    (POLICY, "  validations:", "\u00a0\u00a0validations:", "9:1",
     "write blanks for the invisible character U+00A0"),
    (POLICY, "    message", "    \u200bmessage", "11:5", "the invisible character U+200B"),
    (EXCEPTION, "{name: m}", "{name: m, validations: 0}", "5:37", "write [0]"),
    (EXCEPTION, "  reason", "  subjects: [alice]\n  reason", "6:14",
     'write {kind: User, name: "alice"}'),
    (EXCEPTION, "  reason", "  subjects: ['system:serviceaccount:ci:deployer']\n  reason", "6:15",
     "write {kind: ServiceAccount, namespace: ci, name: deployer}"),
    (EXCEPTION, "  reason", "  subjects: [{kind: ServiceAccount, name: 'ci:a'}]\n  reason", "6:14",
     "write namespace: ci, name: a"),
    (SUITE, "object: {apiVersion: v1, kind: Pod, metadata: {name: web}}", "object: pod.yaml", "8:13",
     "write objectFile: pod.yaml"),
    (SUITE, "policies: [policy.yaml]", "params: limits.yaml", "4:9", "write paramsFile: limits.yaml"),
    (SUITE, "{allowed: true}", "deny", "9:11", "write {allowed: false}"),
    (SUITE, "expect:", "table: [{spec.replicas: 3}]\n  expect:", "9:12", "write set: {spec.replicas"),
    (SUITE, "  expect:", "    userInfo: bob\n  expect:", "9:15", 'write {username: "bob"}'),
    (SUITE, "  expect:", "    namespaceLabels: env=prod\n  expect:", "9:22", "write {env: prod}"),
    (SUITE, "- name: a\n  request", "  a:\n    request", "6:3", "write a list of cases: - {name: a, …}"),
]  # fmt: skip
COMMANDS = [
    ("apply pod.yaml", "Missing option '-p' / '--policies'. Name a file or directory of policies"),
    (
        "apply --policy policy.yaml pod.yaml",
        "No such option '--policy'. Did you mean '--policies'?",
    ),
    ("apply -p policy.yaml -f pod.yaml", "Files need no option: policyd apply [PATHS]..."),
    ("lint -p policy.yaml", "policies are given as PATHS: policyd lint policy.yaml"),
    ("serve --port 8443", "No such option '--port'. Did you mean '--bind'?"),
    ("apply --output json -p policy.yaml pod.yaml", "Did you mean '--format'?"),
    ("apply --nothing", "No such option '--nothing'."),
    ("replay pod.yaml -p policy.yaml", "pod.yaml:1: not JSON at column 1: unexpected character"),
    (
        "apply policy.yaml --resource pod.yaml",
        "hint: policies are given with -p: policyd apply -p policy.yaml pod.yaml",
    ),
    ("apply -p 'a/*.yaml' pod.yaml", "a shell expands wildcards outside of quotes only"),
    ("lint 'a/*.yaml'", "a shell expands wildcards outside of quotes only"),
    (
        "eval pod.yaml object.kind",
        "the expression comes before the file: policyd eval object.kind pod.yaml",
    ),
    ("eval object.kind 'size(object)' pod.yaml", "there is one expression: combine several in a"),
    ("webhooks match", "kubectl get validatingwebhookconfigurations"),
    ("webhooks match -f policy.yaml pod.yaml", "kubectl get validatingwebhookconfigurations"),
    ("eval object.kind", "hint: object is null: its content is that of FILE"),
    ("eval 1 --authorizer policy.yaml", "policy.yaml:1:1: expected a list of rules, got a Policy"),
    ("replay pod.yaml -p policy.yaml", "hint: give files of policyd serve --capture"),
]


# What a file holds, a command, and what is said.
POLICIES = "policies: [policy.yaml]\n"
FILES = [
    ("policyd.yaml", "policies: []\n", "lint", "policyd.yaml:1:11: policies: expected a path"),
    ("policyd.yaml", "policies: [a]\n", "lint", "policyd.yaml:1:12: policies[0]: a: no such file"),
    ("policyd.yaml", "policies: a\n", "apply pod.yaml", "policyd.yaml:1:11: policies: a: no such"),
    (
        "policyd.yaml",
        f"{POLICIES}lint: {{strict: 'yes'}}\n",
        "lint",
        "write true, without quotes",
    ),
    ("policyd.yaml", f"{POLICIES}color: true\n", "lint", "write one of auto, always, never"),
    (
        "policyd.yaml",
        f"{POLICIES}kubernetesVersion: 1.30\n",
        "lint",
        "hint: YAML reads this as the number 1.3: put it in quotes",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}lint: {{disable: [wildcards]}}\n",
        "lint",
        "policyd.yaml:2:17: lint.disable: there is no rule 'wildcards'; did you mean wildcard?",
    ),
    ("a.yaml", POD.encode("utf-16"), "apply -p policy.yaml a.yaml", "UTF-16 is not read"),
    ("a.yaml", POD.encode("utf-16"), "apply -p policy.yaml a.yaml", "Out-File -Encoding utf8"),
    ("a.yaml", "# \xfc".encode("latin-1"), "lint a.yaml", "hint: save the file as UTF-8"),
    ("a.yaml.gz", POD, "apply -p policy.yaml a.yaml.gz", "with gzip, or rename it to a.yaml"),
    (
        "a.yaml",
        "image: a\n",
        "apply -p policy.yaml a.yaml",
        "hint: leave out files of other programs",
    ),
    (
        "a.yaml",
        "NAME READY\n",
        "apply -p policy.yaml a.yaml",
        "as kubectl prints them with -o yaml",
    ),
    ("a.yaml", "kind: Pod\n", "apply -p policy.yaml a.yaml", "hint: write apiVersion: v1 for the"),
    ("a.yaml", "# a\n", "apply -p policy.yaml a.yaml", "--skip-no-objects skips such files"),
    (
        "a.yaml",
        "apiVersion: v1\nkind: Deployment\nmetadata: {name: a}\n",
        "apply -p policy.yaml a.yaml",
        "hint: write apiVersion: apps/v1",
    ),
    (
        "a.yaml",
        "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: a}\n",
        "apply -p policy.yaml a.yaml",
        "hint: write apiVersion: networking.k8s.io/v1",
    ),
    (
        "a.json",
        '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
        "review -p policy.yaml a.json",
        "a.json: request is missing\n  hint: give an AdmissionReview as the API server sends it",
    ),
    (
        "s.yaml",
        SUITE.replace(
            "object: {apiVersion: v1, kind: Pod, metadata: {name: web}}", "objectFile: pood.yaml"
        ),
        "test s.yaml policy.yaml",
        "pood.yaml: No such file or directory: did you mean pod.yaml?",
    ),
    (
        "s.yaml",
        SUITE.replace(
            "object: {apiVersion: v1, kind: Pod, metadata: {name: web}}", "objectFile: pod.yaml"
        ).replace("  expect:", "  table: [{name: b, remove: [metadata.labels]}]\n  expect:"),
        "test s.yaml policy.yaml",
        "    s.yaml:9: metadata.labels: labels: the object has no such field; it has name",
    ),
    ("s.yaml", SUITE, "test s.yaml policy.yaml --run b", "matches no case; there are: s/a"),
    (
        "s.yaml",
        SUITE.replace("  expect:", "  table: [{name: b, set: {/spec/a: 1}}]\n  expect:"),
        "test s.yaml policy.yaml",
        "hint: write spec.a",
    ),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("pod.yaml").write_text(POD)


@pytest.mark.parametrize("document, old, new, place, remedy", DOCUMENTS)
def test_a_mistake_in_a_document(
    document: str, old: str, new: str, place: str, remedy: str
) -> None:
    assert document.count(old) == 1
    file = Path("mistaken.yaml")
    file.write_text(document.replace(old, new))
    others = [] if document is POLICY else ["policy.yaml"]
    done = CliRunner().invoke(policyd, ["lint", str(file), *others])
    found = [part for part in done.output.split(f"{file}:")[1:] if remedy in part]
    assert found, done.output
    assert found[0].startswith(f"{place}: "), found[0]


@pytest.mark.parametrize("old, new", [("matchConstraints:", "matchConstraint:"),
                                      ("validations:", "validation:"),
                                      ("resourceRules:", "rules:"),
                                      ("  validations:", "validations:"),
                                      ("  validations:", "\u00a0\u00a0validations:"),
                                      ("resources: [pods]", "kinds: [Pod]")])  # fmt: skip
def test_a_misspelt_field_is_not_missing_as_well(old: str, new: str) -> None:
    Path("policy.yaml").write_text(POLICY.replace(old, new))
    assert Path("policy.yaml").read_text() != POLICY
    assert "Required value" not in CliRunner().invoke(policyd, ["lint", "policy.yaml"]).output


def test_variables_that_cannot_be_read_are_not_undeclared_as_well() -> None:
    for variables in ("{a: object.kind}", "[{nam: a, expression: object.kind}]"):
        text = POLICY.replace(FAIL, f"  variables: {variables}\n")
        Path("policy.yaml").write_text(text.replace("object.metadata.name", "variables.a"))
        found = CliRunner().invoke(policyd, ["lint", "policy.yaml"]).output
        assert "undeclared" not in found and "undefined" not in found and "variables" in found


@pytest.mark.parametrize("command, message", COMMANDS)
def test_a_mistake_in_a_command(command: str, message: str) -> None:
    done = CliRunner().invoke(policyd, shlex.split(command))
    assert done.exit_code != 0
    assert message in f"{done.output}{done.exception}"


@pytest.mark.parametrize("file, content, command, message", FILES)
def test_a_mistake_in_a_file(file: str, content: str | bytes, command: str, message: str) -> None:
    Path(file).write_bytes(content.encode() if isinstance(content, str) else content)
    done = CliRunner().invoke(policyd, shlex.split(command))
    assert message in f"{done.output}{done.exception}"
    assert f"{done.output}{done.exception}".count(message) == 1


def test_values_of_options_may_be_in_lower_case() -> None:
    done = CliRunner().invoke(
        policyd, shlex.split("explain -p policy.yaml pod.yaml --operation update")
    )
    assert done.output.startswith("UPDATE Pod web")
    assert CliRunner().invoke(policyd, ["schema", "policyexception"]).exit_code == 0


def test_an_error_is_not_called_a_denial() -> None:
    Path("policy.yaml").write_text(POLICY.replace("object.metadata.name", "object.spec.nodeName"))
    done = CliRunner().invoke(policyd, shlex.split("apply -p policy.yaml pod.yaml"))
    assert "1 object: 0 admitted, 0 denied, 1 error\nto explain the first error:" in done.output


def test_a_kind_that_kubernetes_has_not_is_corrected() -> None:
    Path("pod.yaml").write_text(POD.replace("kind: Pod", "kind: Pood"))
    done = CliRunner().invoke(policyd, shlex.split("apply -p policy.yaml pod.yaml"))
    assert "Kubernetes has no such kind; assumed: resource poods" in done.output
    assert "hint: did you mean Pod?" in done.output
