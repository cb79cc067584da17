"""Which kinds of policies an API server serves, by its discovery. No I/O: callers read paths."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policyd.json_types import JSONObject
from policyd.placement.placed_documents import GROUP, RESOURCES, VERSIONS

GROUP_PATH = f"apis/{GROUP}"


@dataclass(frozen=True, slots=True)
class ServedKinds:
    """The best apiVersion of each kind that is served."""

    versions: Mapping[str, str] = field(default_factory=dict)

    def serves(self, document: JSONObject) -> bool:
        """Whether a document can be written as it is."""
        return bool(self.versions.get(document["kind"]) == document["apiVersion"])


def version_paths(group: JSONObject) -> list[str]:
    """Return the paths of the versions to read, from the response at GROUP_PATH."""
    served = {each.get("version") for each in group.get("versions") or ()}
    return [f"{GROUP_PATH}/{version}" for version in VERSIONS if version in served]


def served_kinds(lists: Iterable[JSONObject]) -> ServedKinds:
    """Return what the responses at these paths say, the best version first."""
    found: dict[str, str] = {}
    for each in lists:
        served = {resource.get("name") for resource in each.get("resources") or ()}
        for kind, resource in RESOURCES.items():
            if resource in served:
                found.setdefault(kind, str(each["groupVersion"]))
    return ServedKinds(found)
