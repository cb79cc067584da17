"""Which converter reads which kind, and the import of whole sources: every policy of them is
converted or refused, and so is what belongs to a policy that is not there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from policyd.importers.gatekeeper import mutators, templates
from policyd.importers.kubernetes import admission_policies as kubernetes
from policyd.importers.kyverno import cluster_policy as kyverno
from policyd.importers.kyverno.cel import cel_policies as kyverno_cel
from policyd.importers.model import Imported, ImportRemark, Refused
from policyd.importers.naming import named
from policyd.importers.provenance import provenance
from policyd.json_types import JSON, JSONObject, object_in
from policyd.policy.model.kinds import ADMISSION_GROUP
from policyd.policy.source.loaded_documents import Document

PolicyConverter = Callable[[Document, Sequence[Document]], list[Imported]]
ConverterTable = Mapping[tuple[str, str], PolicyConverter]

KYVERNO = "kyverno.io"
KYVERNO_CEL = "policies.kyverno.io"
TEMPLATES = "templates.gatekeeper.sh"
CONSTRAINTS = "constraints.gatekeeper.sh"
MUTATORS = "mutations.gatekeeper.sh"

# The converter of each kind of policy, by API group and kind.
CONVERTERS: ConverterTable = {
    (KYVERNO, "ClusterPolicy"): kyverno.convert,
    (KYVERNO, "Policy"): kyverno.convert,
    (KYVERNO_CEL, "ValidatingPolicy"): kyverno_cel.convert,
    (KYVERNO_CEL, "NamespacedValidatingPolicy"): kyverno_cel.convert,
    (KYVERNO_CEL, "MutatingPolicy"): kyverno_cel.convert,
    (KYVERNO_CEL, "NamespacedMutatingPolicy"): kyverno_cel.convert,
    (TEMPLATES, "ConstraintTemplate"): templates.convert,
    **{(MUTATORS, kind): mutators.convert for kind in mutators.KINDS},
    (ADMISSION_GROUP, "ValidatingAdmissionPolicy"): kubernetes.convert,
    (ADMISSION_GROUP, "MutatingAdmissionPolicy"): kubernetes.convert,
}

_DELETES = "policyd deletes no objects: keep it in Kyverno, or use a CronJob"
_CREATES = "policyd creates no objects: keep it in Kyverno"
_VERIFIES = "policyd queries no registries, so it verifies no signatures: keep it in Kyverno"
# Kinds that no admission webhook can serve, by API group and kind, with the reason.
_FOREIGN: Mapping[tuple[str, str], str] = {
    (KYVERNO, "CleanupPolicy"): _DELETES,
    (KYVERNO, "ClusterCleanupPolicy"): _DELETES,
    (KYVERNO_CEL, "DeletingPolicy"): _DELETES,
    (KYVERNO_CEL, "NamespacedDeletingPolicy"): _DELETES,
    (KYVERNO_CEL, "GeneratingPolicy"): _CREATES,
    (KYVERNO_CEL, "NamespacedGeneratingPolicy"): _CREATES,
    (KYVERNO_CEL, "ImageValidatingPolicy"): _VERIFIES,
    (KYVERNO_CEL, "NamespacedImageValidatingPolicy"): _VERIFIES,
    ("expansion.gatekeeper.sh", "ExpansionTemplate"): (
        "policyd expands no resources: podControllers in a Policy extends it to Pod controllers"
    ),
    ("externaldata.gatekeeper.sh", "Provider"): "policyd queries no providers of external data",
    ("policy", "PodSecurityPolicy"): (
        "Kubernetes removed PodSecurityPolicy in 1.25: policies/pod-security has the checks of "
        "the Pod Security Standards that replace it"
    ),
}
_EXCEPTIONS = ((KYVERNO, "PolicyException"), (KYVERNO_CEL, "PolicyException"))
_CONFIG = ("config.gatekeeper.sh", "Config")
_BINDINGS = {
    "ValidatingAdmissionPolicyBinding": "ValidatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding": "MutatingAdmissionPolicy",
}
# The groups of other engines that a cluster may serve.
LIVE_GROUPS = (
    KYVERNO,
    KYVERNO_CEL,
    TEMPLATES,
    CONSTRAINTS,
    MUTATORS,
    "config.gatekeeper.sh",
    "expansion.gatekeeper.sh",
    "externaldata.gatekeeper.sh",
)
_GROUPS = frozenset({KYVERNO, KYVERNO_CEL, TEMPLATES, CONSTRAINTS, MUTATORS, ADMISSION_GROUP})
# ConverterTable of these groups that hold no rule: settings of the engine, reports, requests to it.
_NO_POLICIES = frozenset(
    {
        "UpdateRequest",
        "GlobalContextEntry",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    }
)


def convert_all(
    documents: Sequence[Document], converters: ConverterTable = CONVERTERS
) -> list[Imported]:
    """Return what became of each policy of the sources, in their order. Objects of other kinds are
    left alone.
    """
    found = [one for each in documents for one in convert(each, documents, converters)]
    taken = {id(each.source) for each in found}
    found += [each for each in _unclaimed(documents) if id(each.source) not in taken]
    order = {id(each): index for index, each in enumerate(documents)}
    ordered = sorted(found, key=lambda each: order[id(each.source)])
    return named(ordered, lambda source: provenance(source, merged_into(source, documents)))


def convert(
    document: Document, others: Sequence[Document], converters: ConverterTable = CONVERTERS
) -> list[Imported]:
    """Return what became of one document: nothing if it is no policy."""
    kind = (document.group, document.kind)
    foreign = _FOREIGN.get(kind)
    if foreign is not None:
        return [_refused(document, "kind", foreign)]
    converter = converters.get(kind)
    if converter is None:
        return []
    try:
        return converter(document, others)
    except Refused as refused:
        return [Imported(document, reasons=(refused.finding,))]


def is_policy(document: Document, converters: ConverterTable = CONVERTERS) -> bool:
    """Whether a document is a policy of another engine, imported or not."""
    kind = (document.group, document.kind)
    return kind in converters or kind in _FOREIGN


def is_exception(group: str, kind: str) -> bool:
    """Whether objects of a kind exempt requests from the policies that they name."""
    return (group, kind) in _EXCEPTIONS


def is_read_live(group: str, kind: str) -> bool:
    """Whether an import of a cluster reads a kind: kinds of other engines that decide something.
    The API server's own policies stay where they are.
    """
    return group in LIVE_GROUPS and kind not in _NO_POLICIES


def merged_into(policy: Document, documents: Sequence[Document]) -> Iterator[Document]:
    """Yield what becomes part of a policy when it is imported: exceptions from it, the template of
    a constraint, bindings.
    """
    return (each for each in documents if _is_merged(each, policy))


def _is_merged(one: Document, policy: Document) -> bool:
    if is_exception(one.group, one.kind):
        return one.group == policy.group and named_as(policy) in exempted_policies(one)
    if one.group == TEMPLATES:
        return policy.group == CONSTRAINTS and _constraint_kind(one) == policy.kind
    if one.group == ADMISSION_GROUP and one.kind in _BINDINGS:
        return (_BINDINGS[one.kind], _spec(one).get("policyName")) == (policy.kind, policy.name)
    return False


def _unclaimed(documents: Sequence[Document]) -> Iterator[Imported]:
    """Yield the documents that only mean something beside a policy which is not in the sources,
    and documents of unknown kinds.
    """
    policies = {(each.kind, each.name) for each in documents}
    names = {named_as(each) for each in documents if each.group in (KYVERNO, KYVERNO_CEL)}
    templates = {_constraint_kind(each) for each in documents if each.group == TEMPLATES}
    for each in documents:
        if (each.group, each.kind) in _EXCEPTIONS:
            missing = [name for name in exempted_policies(each) if name not in names]
            if missing:
                listed = ", ".join(missing)
                yield _refused(each, "spec", f"the sources have no policy {listed} to except from")
        elif each.group == CONSTRAINTS and each.kind not in templates:
            message = f"the sources have no ConstraintTemplate of {each.kind}"
            hint = "give the file of the ConstraintTemplate as well"
            yield _refused(each, "kind", f"{message}: {hint}")
        elif each.group == ADMISSION_GROUP and each.kind in _BINDINGS:
            name = str(_spec(each).get("policyName", ""))
            if (_BINDINGS[each.kind], name) not in policies:
                message = f"the sources have no {_BINDINGS[each.kind]} {name}"
                yield _refused(each, "spec.policyName", message)
        elif (each.group, each.kind) == _CONFIG and _spec(each).get("match"):
            message = "a Config that exempts namespaces from all policies: give each its own match"
            yield _refused(each, "spec.match", message)
        elif _is_unknown(each):
            yield _refused(each, "kind", f"policyd knows no {each.kind} of {each.api_version}")


def _is_unknown(document: Document) -> bool:
    known = document.kind in _NO_POLICIES or is_policy(document)
    return document.group in _GROUPS and document.group != CONSTRAINTS and not known


def _refused(document: Document, path: str, message: str) -> Imported:
    return Imported(document, reasons=(ImportRemark(path, message),))


def exempted_policies(exception: Document) -> list[str]:
    """Return the names of the policies that an exception is about, in both of its forms."""
    spec = _spec(exception)
    entries = [*_objects(spec.get("exceptions")), *_objects(spec.get("policyRefs"))]
    names = [each.get("policyName", each.get("name")) for each in entries]
    return [name for name in names if isinstance(name, str)]


def named_as(policy: Document) -> str:
    """Return the name by which exceptions refer to a policy."""
    within = policy.namespace if (policy.group, policy.kind) == (KYVERNO, "Policy") else ""
    return f"{within}/{policy.name}" if within else policy.name


def _constraint_kind(template: Document) -> str:
    return str(object_in(template.raw, "spec", "crd", "spec", "names").get("kind"))


def _spec(document: Document) -> JSONObject:
    return object_in(document.raw, "spec")


def _objects(value: JSON) -> list[JSONObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
