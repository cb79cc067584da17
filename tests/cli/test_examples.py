"""The examples of every ``--help`` do what a newcomer who types them expects: they run."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from policyd.cli import policyd
from policyd.policy.suite.reviews import build_review
from tests.builders.commands import NAMES, every
from tests.builders.webhook_configurations import KINDS, configuration, hook
from tests.cli.program import program
from tests.cli.within import Done, within
from tests.sampling import sampled
from tests.shared import ROOT

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  replicas: 3
  containers:
  - {name: web, image: "nginx:1", resources: {limits: {memory: 64Mi}}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: "nginx:1"}]}}}
"""
READING = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: unique-hosts}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [networking.k8s.io], apiVersions: [v1], operations: [CREATE], resources: [ingresses]}
  reads:
  - name: ingresses
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    key: item.spec.rules.map(r, r.host)
  validations: [{expression: "object.spec.rules.all(r, !(r.host in reads.ingresses))"}]
"""
INGRESS = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec: {rules: [{host: shop.example.com}]}
"""
IMPORTED = ROOT / "tests/importers/data"
RULES = "- {user: bob, verb: create, group: apps, resource: deployments}\n"
# What the examples read from, in place of programs that are not policyd's.
PROGRAMS = {
    "kubectl": 'case "$*" in apply*) exec cat;; *webhook*) exec cat webhooks.yaml;; '
    "*clusterpolicies*) exec cat kyverno/disallow-latest-tag/disallow-latest-tag.yaml;; esac; "
    "exec cat pod.json",
    "helm": "cat pod.yaml",
    "kustomize": "cat policies/require-limits/policy.yaml",
    "jq": "exec cat",
}
# These run until they are stopped, or need a cluster, a terminal or git: only their options are checked.
PARSED_ONLY = re.compile(
    r"policyd serve |policyd report |--cluster|--watch|--changed|policyd eval --load \S+$"
    r"|policyd webhooks (apply|delete|diff|status|watch)|policyd bench server"
    r"|policyd denials|policyd compare (?s:.*)--yes"
    r"|policyd bench core .*--compare"
)
# One call of policyd: nothing that a shell would do.
PLAIN = re.compile(r"policyd [^|<>$;&*\\\n#]*(#.*)?")


def examples() -> Iterator[tuple[str, str]]:
    """(command, example) of each line below Examples; one that goes on is indented further."""
    commands = {"": policyd, **{name: context.command for name, context in every()}}
    for name, command in commands.items():
        epilog = command.epilog or ""
        for block in re.split(r"\n{2,}", epilog):
            head, _, rest = block.removeprefix("\b\n").partition("\n")
            if not head.startswith(("Examples:", "What is in a cluster", "In GitHub")):
                continue
            lines: list[str] = []
            for line in rest.splitlines():
                if line.startswith("   "):
                    lines[-1] += "\n" + line
                else:
                    lines.append(line.strip())
            yield from ((name, line) for line in lines)


EXAMPLES = list(examples())
RUN = [line for _, line in EXAMPLES if not PARSED_ONLY.search(line.partition("  #")[0])]
# Those that take processes, or measure.
DEAR = [line for line in RUN if not PLAIN.fullmatch(line) or "bench core" in line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that has what the examples name."""
    review = build_review({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}})
    line = json.dumps(review) + "\n"
    for name in ("policies", "policies-new", "new", "old"):
        shutil.copytree(
            ROOT / "policyd/cli/templates/validation", tmp_path / name / "require-limits"
        )
        for file in (tmp_path / name / "require-limits").iterdir():
            file.write_text(file.read_text().replace("NAME", "require-limits"))
        suite = tmp_path / name / "require-limits" / "suite.yaml"
        suite.write_text(re.sub("- name: .*", "- name: no limit", suite.read_text(), count=1))
    texts = {
        "policyd.yaml": "policies: [policies]",
        "pod.yaml": POD,
        "pod-before.yaml": POD,
        "deployment.yaml": DEPLOYMENT,
        "deploy/all.yaml": DEPLOYMENT,
        "policy.yaml": READING,
        "ingresses.yaml": INGRESS,
        "pod.json": json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
                                "spec": {"containers": [{"name": "web", "image": "nginx:1",
                                         "resources": {"limits": {"memory": "64Mi"}}}]}}),
        "rules.yaml": RULES,
        "webhooks.yaml": json.dumps(configuration(KINDS[1], hook())),
        "namespaces.yaml": "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
        "review.json": line,
        "reviews.jsonl": line,
        "capture/one.jsonl": json.dumps({**review, "response": {"uid": "1", "allowed": True}}),
        "home/.zfunc/_old": "",
        "home/.config/fish/completions/old.fish": "",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copytree(IMPORTED / "kyverno/best-practices", tmp_path / "kyverno")
    template = IMPORTED / "gatekeeper/general/requiredlabels"
    shutil.copytree(template / "samples", tmp_path / "constraints")
    (tmp_path / "templates").mkdir()
    shutil.copy(template / "template.yaml", tmp_path / "templates")
    (tmp_path / "reviews.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    (tmp_path / "bin").mkdir()
    for name, text in PROGRAMS.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def test_every_command_has_examples() -> None:
    assert {name for name, _ in EXAMPLES} == {"", *NAMES}


@pytest.mark.usefixtures("short_rounds")
@pytest.mark.parametrize("example", [*(line for line in RUN if line not in DEAR), *sampled(DEAR)])
def test_an_example_runs(example: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: Done | subprocess.CompletedProcess[str]
    if PLAIN.fullmatch(example):
        monkeypatch.chdir(folder)
        monkeypatch.setenv("HOME", str(folder / "home"))
        words = shlex.split(example, comments=True)[1:]
        done = within(*words, *(("--rounds", "7") if words[:2] == ["bench", "core"] else ()))
    else:
        done = shell(example, folder)
    # 1 is an answer, too: denied, different, not well.
    assert done.returncode in (0, 1), done.stderr
    assert not re.search("Traceback|Usage:|Error:", done.stderr), done.stderr


def shell(example: str, folder: Path) -> Done:
    """Run an example as it is typed."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", example],
        cwd=folder,
        env={
            "PATH": f"{folder / 'bin'}:{program().parent}:{os.environ['PATH']}",
            "HOME": str(folder / "home"),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "example", [line for _, line in EXAMPLES if PARSED_ONLY.search(line.partition("  #")[0])]
)
def test_an_example_that_is_not_run_has_options_that_exist(
    example: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    words = shlex.split(example.replace("\\\n", ""), comments=True)
    words = words[words.index("policyd") + 1 :]
    ends = [words.index(each) for each in (">", "|") if each in words]
    words = words[: min(ends, default=len(words))]
    name = max((each for each in NAMES if words[: len(each.split())] == each.split()), key=len)
    command = dict(every())[name].command
    with command.make_context(name, words[len(name.split()) :]):
        pass
