"""Kyverno's global context as reads: objects that a GlobalContextEntry keeps (kyverno/kyverno
pkg/globalcontext).
"""

from policyd.importers.jmespath.interpolation import has_variables, queried
from policyd.importers.jmespath.terms import CelTerm
from policyd.importers.jmespath.vocabulary import Vocabulary
from policyd.importers.kyverno.api_calls import called, objects_of
from policyd.importers.reads import ReadPlace, Unreadable
from policyd.json_types import JSON, JSONObject


def referenced(written: JSON, scope: Vocabulary) -> CelTerm:
    """Return the value of a `globalReference`.

    Raises NotTranslatable and Unreadable.
    """
    if not isinstance(written, dict) or set(written) - {"name", "jmesPath"}:
        raise Unreadable("expected `name` and `jmesPath`")
    name, _, projection = str(written.get("name", "")).partition(".")
    value = cached(name, projection, scope)
    query = written.get("jmesPath")
    return queried(query, scope, value) if query else value


def cached(name: str, projection: str, scope: Vocabulary) -> CelTerm:
    """Return what Kyverno's global context has under a name.

    Raises NotTranslatable and Unreadable.
    """
    entries = (each for each in scope.reads.sources if each.kind == "GlobalContextEntry")
    found = [each.raw.get("spec") for each in entries if each.name == name]
    spec = found[0] if found else None
    if not isinstance(spec, dict) or any(each != spec for each in found):
        many = "more than one" if found else "no"
        raise Unreadable(f"the sources have {many} GlobalContextEntry {name}")
    value = _entry(spec, scope)
    if not projection:
        return value
    listed = spec.get("projections")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("name") == projection:
            return queried(str(each.get("jmesPath", "")), scope, value)
    raise Unreadable(f"the GlobalContextEntry {name} has no projection {projection}")


def _entry(spec: JSONObject, scope: Vocabulary) -> CelTerm:
    resource, call = spec.get("kubernetesResource"), spec.get("apiCall")
    if isinstance(resource, dict):
        group, version = resource.get("group") or "", str(resource.get("version", ""))
        namespace = str(resource.get("namespace") or "")
        api_version = f"{group}/{version}" if group else version
        kind = scope.reads.kind(api_version, str(resource.get("resource")), placed=True)
        return objects_of(scope.reads.objects(kind, ReadPlace(namespace)), kind)
    if not isinstance(call, dict) or has_variables(call):
        raise Unreadable("its GlobalContextEntry has no `kubernetesResource`")
    fields = ("urlPath", "method", "service")  # the others say how often it is called
    return called({field: call[field] for field in fields if field in call}, scope, early=True)
