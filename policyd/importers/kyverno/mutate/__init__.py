"""What mutates in a rule of Kyverno, as mutations of a Policy: an Overlay where that says it, else
a JSONPatch.
"""

from fnmatch import fnmatchcase

from policyd._core.schema.types import Field
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.matching.kinds import OF_THE_KIND, selected
from policyd.importers.kyverno.matching.targets import descriptions
from policyd.importers.kyverno.mutate.foreach import BODIES, body_of, loops
from policyd.importers.kyverno.mutate.patches import operations_patch, strategic_merge
from policyd.importers.model import ImportNotes, Refused
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.kinds.builtin import BUILTIN_KINDS

_EXISTING = "it changes objects that are in the cluster already, not those of the request"
_REFUSED = {
    "targets": _EXISTING,
    "mutateExistingOnPolicyUpdate": _EXISTING,
    "patches": "Kyverno itself no longer has this field",
    "overlay": "Kyverno itself no longer has this field",
}


def parts(rule: JSONObject, path: str, scope: Vocabulary, notes: ImportNotes) -> JSONObject:
    """Return the mutations of a rule, with what else they need of the Policy, as fields of its
    ``spec``. ``path`` is the path of the rule in its document.

    Raises Refused.
    """
    path = f"{path}.mutate"
    body = rule["mutate"]
    for name, value in body.items():
        if name in _REFUSED and value:
            raise Refused(f"{path}.{name}", _REFUSED[name])
        if name not in _REFUSED and name not in BODIES:
            raise Refused(f"{path}.{name}", f"`{name}` is not understood")
    kind = body_of(body, path)
    given, here, schemas = body[kind], f"{path}.{kind}", schemas_of(rule)
    if kind == "foreach":
        return loops(given, schemas, scope, here, notes, has_context=bool(rule.get("context")))
    convert = strategic_merge if kind == "patchStrategicMerge" else operations_patch
    return {"mutations": [convert(given, schemas, scope, here, notes)]}


def schemas_of(rule: JSONObject) -> list[Field] | None:
    """Return the types of the kinds of a rule, in the rule's order; None if one has no schema here,
    such as a custom resource or ``*``.
    """
    builtin = Schemas.builtin()
    found: list[Field] = []
    matched = descriptions(rule, "match")
    for text in (each for resources, _ in matched for each in resources.get("kinds") or ()):
        known = _known(text)
        if not known:
            return None
        for api_version, kind in known:
            group, _, version = api_version.rpartition("/")
            schema = builtin.lookup(group, version, kind)
            if schema is None or not schema.mergeable:
                return None
            found.append(schema.root)
    return found or None


def _known(text: str) -> list[tuple[str, str]]:
    """Return (apiVersion, kind) of what a selector such as ``apps/v1/Deployment`` stands for, if
    the objects of its requests are of that kind.
    """
    group, version, kind, subresource = selected(text)
    if subresource not in OF_THE_KIND:
        return []
    found = [
        (api_version, name)
        for api_version, name in BUILTIN_KINDS
        if name == kind
        and fnmatchcase(api_version.rpartition("/")[0], group)
        and fnmatchcase(api_version.rpartition("/")[2], version)
    ]
    return found[:1]
