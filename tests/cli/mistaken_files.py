"""Files with a mistake, a command, and what its answer has, in a directory with policy.yaml and
pod.yaml.
"""

from tests.cli.mistakes import POD, SUITE

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
    ("kyverno/a.yaml", POD, "import kyvern", "hint: did you mean kyverno?"),
    ("kyverno/a.yaml", POD, "import kyvern/a.yml", "hint: did you mean kyverno/a.yaml?"),
    (
        "kyverno/a.yaml",
        POD,
        "import policy.yaml kyvern",
        "hint: did you mean kyverno? -o kyvern writes to it: policyd import policy.yaml -o kyvern",
    ),
    ("kyverno/a.yaml", POD, "import policy.yaml out", "hint: -o out writes to it: policyd import"),
    ("policyd.yaml", POLICIES, "apply --resource ./pod.yaml", "option: policyd apply ./pod.yaml"),
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
    ("policyd.yaml", "policies: ['*.yml']\n", "lint", "policyd.yaml:1:13: policies[0]: *.yml: no"),
    ("policyd.yaml", "policies: ['*.yml']\n", "lint", "hint: no file matches; there are: pod.yaml"),
    ("policyd.yaml", "policies: ['*.yaml']\n", "lint", "hint: wildcards are not expanded here"),
    (
        "s.yaml",
        SUITE,
        "explain -p policy.yaml s.yaml",
        "s.yaml:2:7: a PolicyTest is not sent to the",
    ),
    ("s.yaml", SUITE, "apply -p policy.yaml s.yaml", "hint: run it: policyd test s.yaml"),
    (
        "s.yaml",
        SUITE.replace("[policy.yaml]", "['*.yml']"),
        "test s.yaml policy.yaml",
        "hint: no file matches; there are: pod.yaml, policy.yaml, s.yaml",
    ),
    (
        "s.yaml",
        SUITE.replace("[policy.yaml]", "[m]"),
        "test s.yaml policy.yaml",
        "hint: name the file of the policy: policy.yaml",
    ),
    ("policyd.yaml", "policy: [a]\n", "lint", "hint: did you mean policies?"),
    (
        "policyd.yaml",
        f"{POLICIES}test: {{minCoverage: 9}}\n",
        "lint",
        "hint: did you mean coverageMin?",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}test: {{coverageMin: 0.9}}\n",
        "test",
        "expected a percentage from 1 to 100, such as 90, got '0.9'\n    test: {coverageMin: 0.9}\n"
        "                        ^",
    ),
    ("policyd.yaml", "kind: Config\n", "lint", "hint: remove it: the file has options only"),
    ("policyd.yaml", "lint: {rules: {a: off}}\n", "lint", "hint: write disable: [RULE]"),
    (
        "policyd.yaml",
        f"{POLICIES}strict: true\n",
        "lint",
        "write it below its command, such as lint: {strict: true}",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}coverage-min: 95\n",
        "lint",
        "write it below its command: test: {coverageMin: 95}",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}apply: {{coveragemin: 95}}\n",
        "lint",
        "write it below its command: test: {coverageMin: 95}",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}fail-on: warn\n",
        "lint",
        'write it below its command, such as apply: {failOn: "warn"}',
    ),
    (
        "policyd.yaml",
        f"{POLICIES}webhookss: {{}}\nforceconflicts: true\n",
        "lint",
        "write it below its command, such as webhooks: {apply: {forceConflicts: true}}",
    ),
    (
        "policyd.yaml",
        f"{POLICIES}test: {{coverage-min: 95}}\n",
        "lint",
        "hint: did you mean coverageMin?",
    ),
    (
        "d/kustomization.yaml",
        "resources: [a]\n",
        "apply -p policy.yaml d",
        "hint: check what it makes: kustomize build d | policyd apply -p POLICIES -",
    ),
    ("d/a.yaml", "a: 1\n", "apply -p policy.yaml d", "hint: give files of Kubernetes objects"),
    ("d/a.txt", "a: 1\n", "apply -p policy.yaml d", "of directories only *.yaml, *.yml and"),
    ("a.yaml", POD.encode("utf-16"), "apply -p policy.yaml a.yaml", "UTF-16 is not read"),
    ("a.yaml", POD.encode("utf-16"), "apply -p policy.yaml a.yaml", "Out-File -Encoding utf8"),
    ("a.yaml", "# \xfc".encode("latin-1"), "lint a.yaml", "hint: save the file as UTF-8"),
    ("a.yaml.gz", POD, "apply -p policy.yaml a.yaml.gz", "with gzip, or rename it to a.yaml"),
    (
        "a.yaml",
        "image: a\n",
        "apply -p policy.yaml a.yaml",
        "a document needs apiVersion and kind; both are missing\n",
    ),
    (
        "a.yaml",
        "image: a\n",
        "apply -p policy.yaml a.yaml",
        "hint: leave out files of other programs, such as Helm values",
    ),
    (
        "a.yaml",
        "image: a\n",
        "apply -p policy.yaml a.yaml",
        "; --skip-no-objects skips such files",
    ),
    (
        "a.yaml",
        "NAME READY\n",
        "apply -p policy.yaml a.yaml",
        "as kubectl prints them with -o yaml; --skip-no-objects skips such files",
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
