"""The Pod of a controller's template, for patterns under ``podControllers``."""

from collections.abc import Iterable, Mapping

from policyd.json_types import JSON
from policyd.pattern.marks import split

_KEYS = "(m.map(k, k).filter(k, k != 'namespace') + ['namespace'])"


def pod_of(template: str) -> str:
    """Return the expression of the Pod, as ``policy/kinds/controllers.py`` makes it.

    Null if there is no template, for which ``template`` is null.
    """
    entries = "{k: k == 'namespace' ? dyn(request.namespace) : m[k]}"
    metadata = (
        "[type(t.?metadata.orValue(dyn(null))) == map ? t.metadata : dyn({})]"
        f".map(m, {_KEYS}.transformMapEntry(i, k, {entries}))[0]"
    )
    pod = (
        "{'apiVersion': dyn('v1'), 'kind': dyn('Pod'),"
        f" 'metadata': dyn({metadata}), ?'spec': t.?spec}}"
    )
    return f"[{template}].map(t, type(t) == map ? dyn({pod}) : dyn(null))[0]"


def sees_only_spec(trees: Iterable[JSON]) -> bool:
    """Whether patterns name nothing but the spec, which the template has like the Pod."""
    return all(
        isinstance(tree, Mapping) and bool(tree) and all(split(key)[1] == "spec" for key in tree)
        for tree in trees
    )
