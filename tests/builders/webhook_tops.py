"""Values of the metadata and the top fields of webhook configurations, by the name of the case.
``...`` removes a field. No tests here.
"""

from policyd.json_types import JSON, JSONObject
from tests.builders.webhook_values import SUBDOMAIN, shown

# Fields of metadata; the others are those of a valid configuration.
METADATA: dict[str, JSONObject] = {
    **{
        f"metadata.name {shown(name)}": {"name": name}
        for name in (
            ..., "", None, "A", "a_b", "-a", "a-", ".a", "a.", "a.b", "a..b", "a b", "1", SUBDOMAIN, f"{SUBDOMAIN}a", "é",
            "a/b", ".", "..", "a%b", "x.static.k8s.io", ".static.k8s.io", 1, "a\n",
        )
    },
    **{
        f"metadata.generateName {shown(name)}": {"name": ..., "generateName": name}
        for name in ("a-", "A", "-", "", "a" * 300, "a.", "a_")
    },
    "metadata.generateName beside name": {"generateName": "A_"},
    "metadata.namespace": {"namespace": "a"},
    "metadata.namespace empty": {"namespace": ""},
    "metadata.resourceVersion": {"resourceVersion": "1"},
    "metadata.generation": {"generation": -1},
    "metadata.generation string": {"generation": "1"},
    "metadata.labels": {"labels": {"a": "b"}},
    "metadata.labels key": {"labels": {"a b": "b"}},
    "metadata.labels value": {"labels": {"a": "b c"}},
    "metadata.labels number": {"labels": {"a": 1}},
    "metadata.labels list": {"labels": []},
    "metadata.annotations": {"annotations": {"A.com/b": "any thing"}},
    "metadata.annotations key": {"annotations": {"A b": ""}},
    "metadata.annotations size": {"annotations": {"a": "b" * 262144}},
    "metadata.annotations number": {"annotations": {"a": 1}},
    **{
        f"metadata.ownerReferences {shown(each)}": {"ownerReferences": each}
        for each in list[JSON]((
            [], [{}], [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}],
            [{"apiVersion": "a/b/c", "kind": "Pod", "name": "a", "uid": "b"}],
            [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "b"}],
            [{"apiVersion": "a/", "kind": "Pod", "name": "a", "uid": "b"}],
            [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "b", "controller": True} for name in "ab"],
            [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b", "controller": "true"}],
            [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": uid} for uid in "bcb"],
            [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "b"} for name in "aba"],
        ))
    },
    **{
        f"metadata.finalizers {shown(each)}": {"finalizers": each}
        for each in list[JSON](
            (["a"], ["a/b"], ["a b"], [""], ["orphan", "foregroundDeletion"], "a", ["a/b/c"])
        )
    },
    "metadata unknown field": {"foo": 1},
    "metadata.creationTimestamp": {"creationTimestamp": "yesterday"},
    "metadata.creationTimestamp null": {"creationTimestamp": None},
    "metadata.creationTimestamp valid": {"creationTimestamp": "2020-01-01T00:00:00Z"},
    "metadata.uid": {"uid": "a"},
    "metadata.selfLink": {"selfLink": "a"},
    "metadata.deletionGracePeriodSeconds": {"deletionGracePeriodSeconds": -1},
}  # fmt: skip

# Fields of the configuration itself.
TOPS: dict[str, JSONObject] = {
    "metadata missing": {"metadata": ...},
    "metadata null": {"metadata": None},
    "metadata list": {"metadata": []},
    "webhooks missing": {"webhooks": ...},
    "webhooks null": {"webhooks": None},
    "webhooks object": {"webhooks": {}},
    "webhooks string": {"webhooks": "a"},
    "webhooks of null": {"webhooks": [None]},
    "webhooks of strings": {"webhooks": ["a"]},
    "webhooks of lists": {"webhooks": [[]]},
    "spec": {"spec": {}},
    "status and Webhooks": {"status": {}, "Webhooks": []},
}
