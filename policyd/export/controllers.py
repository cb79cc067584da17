"""``podControllers``: one policy for each place of the pod template, with ``object`` replaced
by the Pod of the template, as ``policyd.policy.kinds.controllers`` defines it.

That Pod has the template's ``spec`` and ``metadata`` (an empty one if there is none), the namespace
of the request, and the kind Pod. Fields are read in the template itself. Where an expression uses
the Pod as a whole, the Pod is a literal with all fields of ObjectMeta: CEL cannot merge maps.
"""

from dataclasses import dataclass

from policyd._core.match.matcher import MatchInput, MatchRules
from policyd.export.expressions.occurrences import (
    Access,
    Occurrence,
    Untranslatable,
    replaced,
)
from policyd.export.expressions.selectors import joined, selector_expression
from policyd.json_types import JSONObject
from policyd.policy.kinds.controllers import CONTROLLERS, controller_constraints
from policyd.policy.model.base import LabelSelector
from policyd.policy.source.yaml_edit.edits import TextEdit
from policyd.versions import KubernetesVersion

_OBJECTS = frozenset({"object", "oldObject"})
_METADATA = (
    "name", "generateName", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A place of pod templates: ``path`` leads from the object to the template, ``resources`` have
    it there, and the policies for them have the name of the source and ``suffix``.
    """

    suffix: str
    path: tuple[str, ...]
    resources: tuple[str, ...]

    @property
    def shown_path(self) -> str:
        """Return the path as in messages: ``spec.template``."""
        return ".".join(self.path)


_CRONJOBS = ("cronjobs",)
TEMPLATES = (
    PodTemplate(
        "-templates",
        ("spec", "template"),
        tuple(name for name in CONTROLLERS if name not in _CRONJOBS),
    ),
    PodTemplate("-cronjobs", ("spec", "jobTemplate", "spec", "template"), _CRONJOBS),
)


def has_template(template: PodTemplate) -> str:
    """Return a matchCondition that excludes objects without a template, such as a
    ReplicationController that leaves it out: a policy does not see these.
    """
    return f"{_optionally(template, 'object')}.orValue(null) != null"


def pod_expression(template: PodTemplate, name: str = "object") -> str:
    """Return the whole Pod of the template of ``object`` or ``oldObject``, as CEL.

    It uses ``request``, so no macro may have a variable of that name around it.
    """
    whole = (
        f"dyn({{'apiVersion': dyn('v1'), 'kind': dyn('Pod'), "
        f"'metadata': {_whole_metadata(template, name)}, "
        f"?'spec': {_in_template(template, name)}.?spec}})"
    )
    return _unless_null(name, whole)


def pod_labels(template: PodTemplate, name: str = "object") -> str:
    """Return the optional map of labels of the Pod, as CEL that never errs."""
    return f"{_optionally(template, name)}.?metadata.?labels"


def with_pod(text: str, template: PodTemplate, version: KubernetesVersion) -> str:
    """Return an expression that means for a controller what ``text`` means for the Pod of its
    template. ``request`` stays what it is.

    >>> from policyd.versions import NEWEST
    >>> with_pod("object.spec.hostNetwork != object.metadata.labels.net", TEMPLATES[0], NEWEST)
    'object.spec.template.spec.hostNetwork != object.spec.template.?metadata.orValue({}).labels.net'

    Raises Untranslatable.
    """
    return replaced(text, _OBJECTS, lambda use: _replaced(use, template), version)


def selector_condition(selector: LabelSelector, template: PodTemplate) -> str:
    """Return the objectSelector of a policy as a matchCondition: it selects by the labels of the
    new or the old Pod.
    """
    new, old = (
        selector_expression(selector, pod_labels(template, name))
        for name in ("object", "oldObject")
    )
    return joined("||", (new, joined("&&", ("oldObject != null", old))))


def template_constraints(constraints: JSONObject, template: PodTemplate) -> JSONObject | None:
    """Return the matchConstraints for the controllers with this template, without objectSelector;
    None if the source does not match them. ``constraints`` are the source's.
    """
    derived = controller_constraints(constraints)
    found = {
        key: value
        for key, value in derived.items()
        if key not in ("objectSelector", "resourceRules", "excludeResourceRules")
    }
    rules = _only(derived["resourceRules"], template)
    excludes = _only(derived["excludeResourceRules"], template)
    if not rules:
        return None
    found["resourceRules"] = rules
    return found | {"excludeResourceRules": excludes} if excludes else found


def matched_directly(constraints: JSONObject) -> list[str]:
    """Return the pod controllers that the source's own rules also match, for an operation for
    which they are evaluated as Pods.

    Such a request is evaluated as a Pod if the template has what the selectors want, and as the
    controller otherwise; two policies in the API server would both evaluate it.
    """
    derived = controller_constraints(constraints)["resourceRules"]
    operations = {operation for rule in derived for operation in rule["operations"]}
    rules = [
        {key: value for key, value in rule.items() if key != "resourceNames"}
        for rule in constraints.get("resourceRules") or ()
    ]
    matcher = MatchRules(rules, [], None, None, constraints.get("matchPolicy") or "Equivalent")
    return [
        name
        for name, group in CONTROLLERS.items()
        if any(
            matcher.match(_request(group, name, operation)) is not None for operation in operations
        )
    ]


def _request(group: str, resource: str, operation: str) -> MatchInput:
    kind = {"group": group, "version": "v1", "kind": "Controller"}
    request = {
        "operation": operation,
        "namespace": "default",
        "name": "any",
        "kind": kind,
        "resource": {"group": group, "version": "v1", "resource": resource},
    }
    return MatchInput(request, lambda _: {})


def _only(rules: list[JSONObject], template: PodTemplate) -> list[JSONObject]:
    found: list[JSONObject] = []
    for rule in rules:
        resources = [name for name in rule["resources"] if name in template.resources]
        kept = {**rule, "resources": resources}
        if resources and kept not in found:
            found.append(kept)
    return found


def _whole_metadata(template: PodTemplate, name: str) -> str:
    inner = f"{_in_template(template, name)}.?metadata"
    fields = ", ".join(f"?'{field}': {inner}.?{field}" for field in _METADATA)
    return f"dyn({{'namespace': dyn(request.namespace), {fields}}})"


def _in_template(template: PodTemplate, name: str) -> str:
    return ".".join((name, *template.path))


def _optionally(template: PodTemplate, name: str) -> str:
    return "".join((name, *(f".?{key}" for key in template.path)))


def _unless_null(name: str, text: str) -> str:
    """Return an expression that is null if there is no old object."""
    return text if name == "object" else f"(oldObject == null ? oldObject : {text})"


def _replaced(use: Occurrence, template: PodTemplate) -> list[TextEdit]:
    """Return the replacements for one use of ``object`` or ``oldObject``."""
    if use.compared:
        return []
    name = use.name
    place = TextEdit(use.start, use.end, _in_template(template, name))
    if not use.accesses or use.accesses[0].key is None:
        return [_stand_in(use, pod_expression(template, name))]
    first = use.accesses[0]
    if first.key in ("kind", "apiVersion"):
        value = "'Pod'" if first.key == "kind" else "'v1'"
        return [_stand_in(use, _unless_null(name, f"dyn({{'{first.key}': {value}}})"))]
    if first.key == "metadata":
        return _metadata(use, template)
    return [_through(use, first, template, place)]


def _metadata(use: Occurrence, template: PodTemplate) -> list[TextEdit]:
    """Return the replacements for a use of the metadata, which a template may lack."""
    first, second = use.accesses[0], use.accesses[1] if len(use.accesses) > 1 else None
    if first.test:  # always there
        return [_stand_in(use, _unless_null(use.name, "dyn({'metadata': {}})"))]
    if second is None or second.key is None:
        whole = f"dyn({{'metadata': {_whole_metadata(template, use.name)}}})"
        return [_stand_in(use, _unless_null(use.name, whole))]
    if second.key == "namespace":
        namespace = "dyn({'metadata': {'namespace': dyn(request.namespace)}})"
        return [_stand_in(use, _unless_null(use.name, namespace))]
    place = TextEdit(use.start, use.end, _in_template(template, use.name))
    if first.optional:
        return [_through(use, first, template, place)]
    if first.span is not None and not use.branch:  # the other branch may lead to no Pod
        return [place, TextEdit(*first.span, ".?metadata.orValue({})")]
    inner = f"{_in_template(template, use.name)}.?metadata.orValue({{}})"
    return [TextEdit(use.start, use.end, _unless_null(use.name, f"dyn({{'metadata': {inner}}})"))]


def _through(use: Occurrence, first: Access, template: PodTemplate, place: TextEdit) -> TextEdit:
    """Return the replacement by the template, from which a field is read next."""
    if use.name == "object":
        return place
    if first.optional and not use.branch:  # none if there is no old object
        return TextEdit(use.start, use.end, _optionally(template, use.name))
    if first.span is not None:  # an error if there is no old object
        return place
    return TextEdit(use.start, use.end, _unless_null("oldObject", place.text))


def _stand_in(use: Occurrence, text: str) -> TextEdit:
    """Return the replacement by an expression that uses ``request``."""
    if "request" in use.shadowed and "request." in text:
        raise Untranslatable("a macro has a variable with the name request")
    return TextEdit(use.start, use.end, text)
