"""Names in exceptions of an exported policy, where only a real API server knows the name: before it
makes one of generateName, and in a deletecollection.
"""

from policyd.json_types import JSONObject
from tests.builders.objects import config_map
from tests.builders.policies import demand, labelling, policy, rule
from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.export.exporting import export
from tests.e2e.in_tree import in_force

MAPS = rule("configmaps", operations=["*"])
EXEMPT: JSONObject = {"exceptions": [{"name": "e", "names": ["legacy-*", "exact", "a?????"]}]}


def test_exported_exceptions_know_the_same_names(
    api: Cluster, client: Client, namespace: str
) -> None:
    here = [{"name": "here", "expression": f"request.namespace == '{namespace}'"}]
    stays = policy("stay-names", MAPS, validations=[demand("request.operation != 'DELETE'", "stays")],
                   matchConditions=here, **EXEMPT)  # fmt: skip
    stamp = policy("stamp-names", MAPS, mutations=[labelling("stamp", "'v1'")],
                   matchConditions=here, **EXEMPT)  # fmt: skip
    exports = export([stays, stamp], api.version)
    assert exports.reasons == {}
    mutating = [each for each in exports.documents if each["kind"].startswith("Mutating")]
    validating = [each for each in exports.documents if each not in mutating]
    with in_force(client, mutating), in_force(client, validating):
        stamped = {}
        for prefix in ("legacy-", "exact", "a", "ab", "b" * 60):
            made = config_map("x", namespace)
            made["metadata"] = {"namespace": namespace, "generateName": prefix}
            stored = client.made(made)["metadata"]
            stamped[prefix] = "stamp" in stored.get("labels", {})
        assert stamped == {"legacy-": False, "exact": True, "a": False, "ab": True, "b" * 60: True}
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        for each in client.send("GET", path).body["items"]:
            name = each["metadata"]["name"]
            query = f"?fieldSelector=metadata.name%3D{name}"
            exempt = name.startswith("legacy-") or (name[0] == "a" and len(name) == 6)
            assert (client.send("DELETE", path + query).status == 200) is exempt, name
