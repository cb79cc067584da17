"""Hints at fields that a type lacks, and another type of the kind has."""

import pytest

from policyd._core.schema.types import Field
from policyd.mutation.schemas.schemas import Schemas, field_below
from policyd.mutation.schemas.unknown_fields import field_hint

IN_CONTAINERS = "spec.containers[]"
IN_TEMPLATE = "spec.template.spec.containers[]"
CRON = ("batch", "v1", "CronJob")
DEPLOYMENT = ("apps", "v1", "Deployment")
POD = ("", "v1", "Pod")

# The kind, the place of the field and its name; the hint.
HINTS = [
    # The field is elsewhere in the object.
    (POD, "spec.securityContext", "allowPrivilegeEscalation",
     f"write it below {IN_CONTAINERS}.securityContext"),
    (DEPLOYMENT, "spec.template.spec.securityContext", "allowPrivilegeEscalation",
     f"write it below {IN_TEMPLATE}.securityContext"),
    (CRON, "spec.jobTemplate.spec.template.spec.securityContext", "privileged",
     "write it below spec.jobTemplate.spec.template.spec.containers[].securityContext"),
    (POD, "spec.containers.0.securityContext", "fsGroup", "write it below spec.securityContext"),
    (POD, "spec.containers.0", "nodeSelector", "write it below spec"),
    (POD, "spec.containers.0", "volumes", "write it below spec"),
    # The field is below, and a similar one at its place.
    (POD, "spec", "imagePullPolicy", "write it below containers[]"),
    (POD, "spec", "image", "write it below containers[]"),
    (POD, "spec", "volumeMounts", "write it below containers[]"),
    (POD, "spec", "hostPort", "write it below containers[].ports[]"),
    (DEPLOYMENT, "spec", "nodeSelector", "write it below template.spec"),
    (DEPLOYMENT, "spec", "allowPrivilegeEscalation",
     "write it below template.spec.containers[].securityContext"),
    # A field with almost the same name at its place is more likely.
    (POD, "spec.containers.0", "port", "did you mean ports?"),
    (POD, "spec.containers.0", "resource", "did you mean resources?"),
    (POD, "spec.containers.0.resources", "request", "did you mean requests?"),
    (POD, "spec", "nodeSelektor", "did you mean nodeSelector?"),
    # Too many types have a field of this name.
    (POD, "spec.containers.0.securityContext", "name",
     "known fields: allowPrivilegeEscalation, "),
    (POD, "spec", "labels", "write it below metadata of the object"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "place", "name", "want"), HINTS)
def test_where_a_field_is(kind: tuple[str, str, str], place: str, name: str, want: str) -> None:
    schema = Schemas.builtin().lookup(*kind)
    assert schema is not None
    at: Field | None = schema.root
    for part in place.split("."):
        assert at is not None
        at = field_below(at, part)
    assert at is not None
    assert field_hint(name, at.type, schema.root.type).startswith(want)
