"""Manifests, and the fields and places of what ``policyd apply`` finds in them. No tests here."""

import json
from pathlib import Path

from click.testing import CliRunner, Result

from policyd.cli import policyd
from policyd.json_types import JSON, JSONObject
from tests.builders.policies import demand, rule

PODS = rule("pods", operations=["*"])
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels: {app: web, tier: "front"}
  finalizers: [a.io/x, b.io/y]
spec:
  hostNetwork: true
  securityContext:
    runAsUser: 0
  containers:
  - name: web
    image: x/web:1
    args: [-a, -b]
    resources:
      limits: {memory: 1Gi}
  - name: log
    image: y/log:latest
    ports:
    - containerPort: 80
    - containerPort: 99
      hostPort: 99
  initContainers:
  - name: init
    image: z/init
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: x/web:1
      - name: log
        image: y/log
"""
CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: a, image: y/a}
"""
LIST = "apiVersion: v1\nkind: List\nitems:\n- " + POD.replace("\n", "\n  ").rstrip() + "\n"
AFTER = f"# first\n{DEPLOYMENT.replace('y/', 'x/')}--- # second\n{POD}"
ALIASES = """\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - &one
    name: one
    image: x/one
    securityContext: &secure {privileged: false}
  - <<: *one
    name: two
    image: y/two
  - name: three
    image: &bad y/three
    securityContext: *secure
  - name: four
    image: *bad
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: shop}
data:
  max: "9"
  a.json: |
    {"a": 1}
"""
IMAGES = demand("object.spec.containers.all(c, c.image.startsWith('x/'))", "m")
BY_PATTERN = {"pattern": {"spec": {"containers": [{"image": "x/*"}]}}, "message": "m"}


def cel(expression: str, **more: JSON) -> JSONObject:
    return demand(expression, "m", **more)


def run(manifest: str, *policies: JSONObject, flags: tuple[str, ...] = ()) -> Result:
    Path("policies.json").write_text("\n".join(map(json.dumps, policies)))
    Path("m.yaml").write_text(manifest)
    arguments = ["apply", "-p", "policies.json", *(["m.yaml"] if "-" not in flags else []), *flags]
    return CliRunner().invoke(policyd, arguments, input=manifest)


def findings(done: Result) -> list[JSONObject]:
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return [each for found in json.loads(done.stdout) for each in found["findings"]]


def rest(manifest: str, finding: JSONObject) -> str:
    """The text of a manifest from the place of a finding on."""
    lines = manifest.split("\n")[finding["line"] - 1 :]
    return "\n".join([lines[0][finding["column"] - 1 :], *lines[1:]])
