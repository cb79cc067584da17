"""The kinds that kube-apiserver 1.37 serves, and which of them are namespaced. Only data.

``discovery.json`` is from its API discovery (``tools/make_discovery.py``); a star marks a
cluster-scoped kind. Versions that are not served by default (alpha, beta) are left out.
"""

import json
from collections.abc import Mapping
from pathlib import Path

_TABLE = json.loads(Path(__file__).with_name("discovery.json").read_bytes())
# (apiVersion, kind) -> whether objects of the kind live in a namespace.
BUILTIN_KINDS: dict[tuple[str, str], bool] = {
    (api_version, name.removesuffix("*")): not name.endswith("*")
    for api_version, names in _TABLE["served"].items()
    for name in names
}
# (group, kind) -> the same of the kinds that are served only if a feature gate is on.
OTHER_SCOPES: dict[tuple[str, str], bool] = {
    (group, name.removesuffix("*")): not name.endswith("*")
    for group, names in _TABLE["gated"].items()
    for name in names
}
# group -> resource -> subresources.
SUBRESOURCES: Mapping[str, Mapping[str, list[str]]] = _TABLE["subresources"]
# resource -> the short names of kubectl.
SHORT_NAMES: Mapping[str, list[str]] = _TABLE["shortNames"]
