"""What lint takes for always present is what defaults add, or what the API server requires."""

from collections.abc import Iterator
from typing import Any

from policyd._core.schema.types import SchemaType
from policyd.defaulting.defaults import Defaults
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.kinds.object_types import go_fields
from tests.builders.samples import every_kind

# Not defaults: validation requires these, or they are set after the defaults.
REQUIRED = {
    "ConfigMapEnvSource": {"name"},
    "ConfigMapKeySelector": {"name"},
    "ConfigMapProjection": {"name"},
    "ConfigMapVolumeSource": {"name"},
    "Container": {"image"},
    "EphemeralContainer": {"image"},
    "ExecAction": {"command"},
    "HTTPIngressPath": {"pathType"},
    "IngressServiceBackend": {"port"},
    "ObjectMeta": {"creationTimestamp", "name", "namespace", "uid"},
    "PersistentVolumeClaimSpec": {"accessModes"},
    "PersistentVolumeSpec": {"accessModes", "capacity"},
    "PodSpec": {"serviceAccountName"},
    "ReplicaSetSpec": {"template"},
    "ReplicationControllerSpec": {"selector", "template"},
    "SecretEnvSource": {"name"},
    "SecretKeySelector": {"name"},
    "SecretProjection": {"name"},
    "SecretVolumeSource": {"secretName"},
}
# Defaults of some objects only: not of a template, of a CronJob's jobs, of an attached volume or of
# a Service that is an external name. Lint is silent about them, too.
SOMETIMES = {
    "PodSpec": {"enableServiceLinks"},
    "JobSpec": {
        "backoffLimit",
        "completionMode",
        "manualSelector",
        "parallelism",
        "suspend",
    },
    "PersistentVolumeSpec": {"persistentVolumeReclaimPolicy", "volumeMode"},
    "ServiceSpec": {"internalTrafficPolicy"},
}


def absent(value: Any, kind: SchemaType) -> Iterator[tuple[str, str]]:
    """Each struct with a field that is always there that this object lacks."""
    if isinstance(value, list) and kind.item is not None:
        for each in value:
            yield from absent(each, kind.item.type)
    elif isinstance(value, dict):
        missing = go_fields("alwaysThere").get(kind.name, frozenset()) & set(kind.fields) - set(
            value
        )
        yield from ((kind.name, field) for field in missing)
        for name, member in value.items():
            field = kind.fields.get(name, kind.extra)
            if field is not None:
                yield from absent(member, field.type)


def test_what_lint_takes_for_present_is_there_after_defaults() -> None:
    schemas = Schemas.builtin()
    defaults = Defaults(schemas)
    missing: dict[str, set[str]] = {}
    for each in every_kind():
        group, _, version = each.api_version.rpartition("/")
        schema = schemas.lookup(group, version, each.kind)
        assert schema is not None
        for manifest in each.all(10):
            for struct, field in absent(defaults.applied(manifest), schema.root.type):
                missing.setdefault(struct, set()).add(field)
    unexplained = {
        struct: fields - REQUIRED.get(struct, set()) - SOMETIMES.get(struct, set())
        for struct, fields in missing.items()
    }
    assert {struct: fields for struct, fields in unexplained.items() if fields} == {}
