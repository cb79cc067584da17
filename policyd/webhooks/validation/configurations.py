"""Checks a whole configuration, as at its creation.

Follows kubernetes ``pkg/apis/admissionregistration/validation`` of 1.36 and 1.37; the messages,
their order and the mistakes are the API server's.
"""

from collections.abc import Iterator

from policyd.json_types import JSONObject
from policyd.policy.model.names import STATIC_SUFFIX
from policyd.versions import NEWEST, KubernetesVersion
from policyd.webhooks.changes import DECLARATIVE_METADATA, STATIC_NAMES
from policyd.webhooks.validation.decoding import decode, defaulted
from policyd.webhooks.validation.field_problems import FieldProblem, duplicate, invalid
from policyd.webhooks.validation.hooks import check_webhook
from policyd.webhooks.validation.metadata import check_metadata

# Only configurations in files of the API server may have such names.


def problems(
    configuration: JSONObject, *, version: KubernetesVersion = NEWEST
) -> list[FieldProblem]:
    """Return the problems for which the API server refuses to create a configuration.

    Raises ConfigError for an object that is not a webhook configuration.
    """
    decoded = decode(configuration)
    if decoded.problem is not None:
        return [decoded.problem]
    found = list(_check(defaulted(decoded.configuration), version))
    return list(dict.fromkeys(found)) if version.has(DECLARATIVE_METADATA) else found


_STATIC_NAME = (
    f'names ending with "{STATIC_SUFFIX}" are reserved for static manifest-based configurations '
    "and cannot be managed via the API"
)


def _check(configuration: JSONObject, version: KubernetesVersion) -> Iterator[FieldProblem]:
    meta = configuration.get("metadata", {})
    yield from check_metadata(meta, version)
    names: set[str] = set()
    for index, hook in enumerate(configuration.get("webhooks", [])):
        path = f"webhooks[{index}]"
        yield from check_webhook(hook, path, version)
        name = hook.get("name", "")
        if name and name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)
    name = meta.get("name", "")
    if name.endswith(STATIC_SUFFIX) and version.has(STATIC_NAMES):
        yield from invalid("metadata.name", name, [_STATIC_NAME])
