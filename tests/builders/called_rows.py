"""What an API server with the webhooks of ``product_webhooks`` did for one request, as a row, and
whether that is what policyd says. No tests here.
"""

from pathlib import Path

from policyd._core.match.equivalents import Equivalents
from policyd.admission.lookups.authorizer import StaticAuthorizer
from policyd.json_types import JSONObject
from policyd.versions import KubernetesVersion
from policyd.webhooks.calls import HookCall, called, hooks_of
from tests.builders.objects import definition, widget_definition
from tests.builders.webhook_configurations import ROWS

OBSERVER = "/000-observer/observer.example.com"
PATCHER = "/mm-patcher/patcher.example.com"
# Members of system:masters may do anything.
ALLOWED = StaticAuthorizer([{"allowed": True}])
PROD, DEV, PLAIN = "calls-prod", "calls-dev", "calls-plain"
SPACES: list[JSONObject] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    for name, labels in (
        (PROD, {"env": "prod", "istio-injection": "enabled"}),
        (DEV, {"env": "dev", "admission.gatekeeper.sh/ignore": "yes"}),
        (PLAIN, {}),
    )
]
_VERSION = widget_definition()["spec"]["versions"][0]
DEFINITION = definition(
    "Widget", "example.com", {}, versions=[_VERSION, {**_VERSION, "name": "v2", "storage": False}]
)


def calls_of(version: str) -> Path:
    """The file of the rows of a Kubernetes version."""
    return ROWS / f"calls-{version}.jsonl.gz"


def compare(row: JSONObject, given: list[JSONObject], version: KubernetesVersion) -> None:
    """Assert that the webhooks of ``given`` were called as policyd says.

    A row has the ``name`` of the request, the ``request`` as the observer was sent it, the
    ``calls`` in the order of their arrival (path, resource and kind), whether the object was
    ``patched``, and the ``status`` and ``message`` that the client got.
    """
    name = row["name"]
    found = called(
        hooks_of(given),
        row["request"],
        namespaces=SPACES,
        equivalents=Equivalents.of_crds([DEFINITION]),
        authorizer=ALLOWED,
        version=version,
    )
    paths = [path for path, _, _ in row["calls"]]
    mutating = [_path(call) for call in found.mutating]
    assert paths[: len(mutating)] == mutating, name
    rest = paths[len(mutating) :]
    if row["patched"]:
        before = mutating[: mutating.index(PATCHER)]
        again = [_path(call) for call in found.again if _path(call) in before]
        assert rest[: len(again)] == again, name
        rest = rest[len(again) :]
    assert sorted(rest) == sorted(map(_path, found.validating)), (name, found.others)
    if found.rejection is not None:
        rejected = (found.rejection.code, found.rejection.message)
        assert (row["status"], row["message"]) == rejected, name
    seen = {_path(call): call for call in (*found.mutating, *found.validating)}
    for path, resource, kind in row["calls"]:
        assert (tuple(resource), tuple(kind)) == (seen[path].resource, seen[path].kind), name


def _path(call: HookCall) -> str:
    return f"/{call.hook.configuration}/{call.hook.name}"
