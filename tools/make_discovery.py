"""Generate the table of built-in kinds, policyd/policy/kinds/discovery.json, from a kube-apiserver.

POLICYD_KUBERNETES=1.36 python -m tools.make_discovery

Starts the API server of that version twice, as it is and with all API versions and features, and
reads its discovery: ``served`` by default, ``gated`` otherwise; a star marks cluster-scoped kinds.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster, cluster

FLAGS = ["--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true"]
TARGET = Path(__file__).resolve().parent.parent / "policyd/policy/kinds/discovery.json"


def main() -> None:
    with cluster() as usual, cluster(flags=FLAGS) as everything:
        TARGET.write_text(text(table(dict(resources(usual)), dict(resources(everything)))))


def resources(server: Cluster) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield each group and version with its resources."""
    yield "v1", server.call("GET", "/api/v1")[1]["resources"]
    for group in server.call("GET", "/apis")[1]["groups"]:
        for version in group["versions"]:
            name = version["groupVersion"]
            yield name, server.call("GET", f"/apis/{name}")[1]["resources"]


def table(
    usual: Mapping[str, list[dict[str, Any]]], everything: Mapping[str, list[dict[str, Any]]]
) -> dict[str, dict[str, Any]]:
    """Return the sections of the file."""
    served = {name: _kinds(listed) for name, listed in usual.items() if not _preview(name)}
    known = {(_group(name), kind) for name, kinds in served.items() for kind in kinds}
    gated: dict[str, set[str]] = {}
    subresources: dict[str, dict[str, set[str]]] = {}
    short: dict[str, list[str]] = {}
    for name, listed in everything.items():
        group = _group(name)
        new = {kind for kind in _kinds(listed) if (group, kind) not in known}
        gated.setdefault(group, set()).update(new)
        for each in listed:
            resource, _, below = each["name"].partition("/")
            if below:
                subresources.setdefault(group, {}).setdefault(resource, set()).add(below)
            elif each.get("shortNames") and (group, _marked(each)) in known:
                short[resource] = each["shortNames"]
    return {
        "served": served,
        "gated": {group: sorted(kinds) for group, kinds in gated.items() if kinds},
        "subresources": {
            group: {name: sorted(below) for name, below in found.items()}
            for group, found in subresources.items()
        },
        "shortNames": short,
    }


def _group(name: str) -> str:
    return name.rpartition("/")[0]


def _preview(name: str) -> bool:
    version = name.rpartition("/")[2]
    return "alpha" in version or "beta" in version


def _kinds(listed: list[dict[str, Any]]) -> list[str]:
    return sorted(_marked(each) for each in listed if "/" not in each["name"])


def _marked(each: Mapping[str, Any]) -> str:
    return f"{each['kind']}{'' if each['namespaced'] else '*'}"


def text(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the content of the file: a line for each key."""
    sections = []
    for section, rows in found.items():
        lines = [f"  {json.dumps(key)}: {_line(rows[key])}" for key in sorted(rows)]
        sections.append(f" {json.dumps(section)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


if __name__ == "__main__":
    main()
