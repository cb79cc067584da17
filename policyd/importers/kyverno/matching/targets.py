"""The resources that a rule is about: what its kinds select, how a request for one is recognised,
and whether it can be without a namespace.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from policyd.export.expressions.cel import TRUE, Cel, relation
from policyd.importers.jmespath.cel import every, some
from policyd.importers.jmespath.globs import among
from policyd.importers.kyverno.matching.kinds import MatchedResource, target
from policyd.importers.model import ImportNotes, refusing
from policyd.json_types import JSONObject
from policyd.near_names import nearest
from policyd.policy.kinds.builtin import BUILTIN_KINDS

_CLOSE = 0.85  # how similar a kind must be to a known one to suggest that
NAMESPACE = "request.namespace"
_SUBRESOURCE = "request.?subResource.orValue('')"


def descriptions(rule: JSONObject, name: str, path: str = "") -> Iterator[tuple[JSONObject, str]]:
    """Yield the ``resources`` of the block ``match`` or ``exclude`` of a rule with their paths: of
    each entry, or its own.
    """
    block, at = rule.get(name, {}), f"{path}.{name}"
    listed = [
        (entry, f"{at}.{name}[{index}]")
        for name in ("any", "all")
        for index, entry in enumerate(block.get(name, ()))
    ]
    for entry, here in (*listed, (block, at)):
        if "resources" in entry:
            yield entry["resources"], f"{here}.resources"


def targets(
    rule: JSONObject, path: str, definitions: Sequence[JSONObject]
) -> dict[str, MatchedResource]:
    """Return the resources of every kind that a rule names. Raises Refused."""
    found: dict[str, MatchedResource] = {}
    for name in ("match", "exclude"):
        for resources, at in descriptions(rule, name, path):
            for index, kind in enumerate(resources.get("kinds") or ()):
                with refusing(f"{at}.kinds[{index}]", ValueError):
                    found[kind] = target(kind, definitions)
    return found


def matched_by(rule: JSONObject, of: Mapping[str, MatchedResource]) -> list[MatchedResource]:
    """Return the resources of the kinds that the ``match`` of a rule names."""
    listed = descriptions(rule, "match")
    return [of[kind] for resources, _ in listed for kind in resources.get("kinds", ())]


def note_guesses(resources: Iterable[MatchedResource], path: str, notes: ImportNotes) -> None:
    """Add a remark for each kind whose resource follows from its name only."""
    for each in resources:
        if not each.derived:
            continue
        kind, group = each.selector.kind, each.groups[0]
        within = "" if group == "*" else f" in the group {group}" if group else " in the core group"
        message = (
            f"neither Kubernetes nor a CustomResourceDefinition of the sources has the kind {kind}"
            f"{within}: taken for {each.resources[0]}{'' if within else ' of any group'}"
        )
        near = nearest(kind, {name for _, name in BUILTIN_KINDS}, _CLOSE)
        message += f"; did you mean {near}?" if near and near != kind else ""
        notes.remark(path, message)


def namespace_of(found: Iterable[MatchedResource], *, namespaced: bool = False) -> str:
    """Return CEL of the namespace of a request, as Kyverno has it: empty for cluster-scoped
    objects, whose requests have none. ``namespaced``: the rule is about no others.
    """
    if namespaced or all(each.namespaced for each in found):
        return NAMESPACE
    return f"{NAMESPACE.replace('.', '.?')}.orValue('')"


def absent_fields(found: Sequence[MatchedResource], *, namespaced: bool = False) -> tuple[str, ...]:
    """Return the fields that requests for these resources may lack. ``namespaced``: as above."""
    fields = ["name"]  # of an object that is created with generateName
    if not (namespaced or all(each.namespaced for each in found)):
        fields.append("namespace")
    names = [name for each in found for name in each.resources]
    if not all("/" in name and not name.endswith("/*") for name in names):
        fields.append("subResource")
    return tuple(fields)


def kind_test(
    found: Sequence[MatchedResource], among_them: Iterable[MatchedResource], extended: Sequence[str]
) -> Cel:
    """Test that a request is for one of these resources.

    ``among_them``: all that the rule is about. ``extended`` are the kinds to which a rule for Pods
    is extended.
    """
    apart = any(each.selector.subresource for each in among_them)
    plain = [each for each in found if each.exact and not each.selector.subresource]
    tests = []
    if plain:
        kinds = [each.selector.kind for each in plain]
        kinds += extended if "Pod" in kinds else ()
        whole = some(*(_whole(each) for each in plain)) if apart else TRUE
        tests.append(every(among("request.kind.kind", kinds), whole))
    return some(*tests, *(_one(each, apart) for each in found if each not in plain))


def _one(found: MatchedResource, apart: bool) -> Cel:
    group, version, kind, subresource = found.selector
    # The kind of a request for a subresource is its object's, such as Scale.
    of = "request.resource" if subresource else "request.kind"
    tests = [among(f"{of}.group", [group]), among(f"{of}.version", [version])]
    if not subresource:
        return every(*tests, among("request.kind.kind", [kind]), _whole(found) if apart else TRUE)
    if found.exact and kind != "*":
        tests = [among("request.resource.group", found.groups)]
    if kind != "*":
        names = [name.partition("/")[0] for name in found.resources]
        tests.append(among("request.resource.resource", names))
        if subresource == "*":
            return every(*tests, relation(_SUBRESOURCE, "!=", "''"))
    return every(*tests, among(_SUBRESOURCE, [subresource]))


def _whole(found: MatchedResource) -> Cel:
    """Test that a request is for the resource itself, or for the subresources that belong to it."""
    subresources = [name.partition("/")[2] for name in found.resources]
    return among(_SUBRESOURCE, subresources)
