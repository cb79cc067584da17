"""Random Policies about what ``random_requests`` are for: expressions, patterns and mutations with
params, exceptions and podControllers. No tests here.
"""

import copy
from collections.abc import Sequence
from random import Random
from typing import Any

from policyd.json_types import JSONObject
from tests.builders.policies import apply_configuration, json_patch, overlay, rule
from tests.export.random_requests import NAMESPACES

PARAMS: JSONObject = {
    "registry": "registry.example.com/",
    "key": "tier",
    "limits": {"containers": 2, "memory": "128Mi"},
    "values": ["web", "db"],
    "a-b": True,
    "ratio": 0.5,
    "nothing": None,
}


def random_policy(random: Random, name: str) -> JSONObject:
    """A Policy that loads, or nearly always does."""
    spec = _matching(random)
    rules = spec["matchConstraints"]["resourceRules"]
    about_pods = all(each["resources"] == ["pods"] for each in rules)
    if about_pods and random.random() < 0.5:
        spec["podControllers"] = True
    spec["params"] = PARAMS
    spec["variables"] = copy.deepcopy(_VARIABLES)
    if random.random() < 0.4:
        chosen = random.sample(_CONDITIONS, random.randint(1, 2))
        spec["matchConditions"] = [
            {"name": f"c{index}", "expression": text} for index, text in enumerate(chosen)
        ]
    if random.random() < 0.35:
        spec["failurePolicy"] = "Ignore"
    if random.random() < 0.6:
        spec |= _validating(random, about_pods)
    else:
        spec |= _mutating(random, about_pods)
    if random.random() < 0.3:
        spec["exceptions"] = exceptions(random, spec.get("validations", ()))
    metadata = {"name": name}
    return {"apiVersion": "policyd.dev/v1", "kind": "Policy", "metadata": metadata, "spec": spec}


def _matching(random: Random) -> JSONObject:
    operations = random.choice((["CREATE", "UPDATE"], ["CREATE"], ["*"], ["UPDATE", "DELETE"]))
    rules = random.choice(_RULES)
    constraints: JSONObject = {
        "resourceRules": [rule(*each, operations=operations) for each in rules]
    }
    if random.random() < 0.25:
        constraints["objectSelector"] = random.choice(_SELECTORS)
    if random.random() < 0.15:
        constraints["namespaceSelector"] = {"matchLabels": {"env": random.choice(("prod", "dev"))}}
    if random.random() < 0.1:
        constraints["excludeResourceRules"] = [
            rule("pods", "services", operations=["CREATE"], resourceNames=["web"])
        ]
    if random.random() < 0.1:
        constraints["matchPolicy"] = "Exact"
    return {"matchConstraints": constraints}


def _validating(random: Random, about_pods: bool) -> JSONObject:
    actions = random.choice((["Deny"], ["Deny"], ["Warn"], ["Deny", "Audit"], ["Warn", "Audit"]))
    expressions = [*_ANY_EXPRESSIONS, *(_POD_EXPRESSIONS if about_pods else ())]
    if "Warn" in actions:  # the API server drops a warning that quotes several lines
        expressions = [each for each in expressions if "\n" not in each]
    validations: list[JSONObject] = []
    for index in range(random.randint(1, 3)):
        validation: JSONObject = {"name": f"v{index}"}
        kind = random.random()
        if kind < 0.6:
            validation["expression"] = random.choice(expressions)
        elif kind < 0.85:
            validation["pattern"] = _pattern(random, about_pods)
        else:
            patterns = [_pattern(random, about_pods) for _ in range(random.randint(1, 3))]
            validation["anyPattern"] = patterns
        if random.random() < 0.5:
            validation["message"] = random.choice(("not allowed", ' it\'s "no" ', "nein: ü"))
        if random.random() < 0.4:
            validation["messageExpression"] = random.choice(_MESSAGES)
        if random.random() < 0.3:
            validation["reason"] = random.choice(("Forbidden", "RequestEntityTooLarge", "Invalid"))
        validations.append(validation)
    found: JSONObject = {"validations": validations, "validationActions": actions}
    if random.random() < 0.3:
        found["auditAnnotations"] = [
            {"key": "seen", "valueExpression": random.choice(_ANNOTATIONS)}
        ]
    return found


def _mutating(random: Random, about_pods: bool) -> JSONObject:
    overlays = [*_ANY_OVERLAYS, *(_POD_OVERLAYS if about_pods else ())]
    patches = [*_ANY_PATCHES, *(_POD_PATCHES if about_pods else ())]
    configurations = [*_ANY_CONFIGURATIONS, *(_POD_CONFIGURATIONS if about_pods else ())]
    mutations = []
    for _ in range(random.randint(1, 2)):
        kind = random.random()
        if kind < 0.5:
            trees = [random.choice(overlays) for _ in range(random.randint(1, 2))]
            mutations.append(overlay(_merged(trees)))
        elif kind < 0.75:
            mutations.append(json_patch(random.choice(patches)))
        else:
            mutations.append(apply_configuration(random.choice(configurations)))
    return {
        "mutations": mutations,
        "reinvocationPolicy": random.choice(("Never", "IfNeeded")),
    }


def _pattern(random: Random, about_pods: bool) -> JSONObject:
    pool = [*_ANY_PATTERNS, *_POD_PATTERNS, *_POD_PATTERNS] if about_pods else _ANY_PATTERNS
    return _merged([random.choice(pool) for _ in range(random.randint(1, 3))])


def _merged(trees: Sequence[JSONObject]) -> JSONObject:
    """Trees as one; what two of them say, the last one does."""
    found: JSONObject = {}
    for tree in trees:
        for key, value in tree.items():
            for other in [each for each in found if each != key and bare(each) == bare(key)]:
                del found[other]
            old = found.get(key)
            both = isinstance(old, dict) and isinstance(value, dict)
            found[key] = _merged([old, value]) if both else copy.deepcopy(value)  # type: ignore[list-item]
    return found


def bare(key: str) -> str:
    """A key without its mark."""
    return key.partition("(")[2].removesuffix(")") if key.endswith(")") else key


def exceptions(random: Random, validations: Sequence[JSONObject]) -> list[JSONObject]:
    """One or two exceptions; one may be from some of the validations only."""
    found = []
    for index in range(random.randint(1, 2)):
        made: JSONObject = {"name": f"e{index}"}
        for key, values in _CRITERIA.items():
            if random.random() < 0.3:
                made[key] = random.choice(values)
        if validations and random.random() < 0.5:
            made["validations"] = [random.choice(validations)["name"]]
        if len(made) == 1:
            made["names"] = ["legacy-*"]
        found.append(made)
    return found


_RULES: tuple[tuple[tuple[str, ...], ...], ...] = (
    (("pods",),),
    (("pods",),),
    (("pods",),),
    (("pods", "services"),),
    (("configmaps",),),
    (("configmaps", "services"),),
    (("pods",), ("configmaps",)),
)
_SELECTORS: tuple[JSONObject, ...] = (
    {"matchLabels": {"app": "web"}},
    {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["web", ""]}]},
    {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["web"]}]},
    {"matchExpressions": [{"key": "env", "operator": "DoesNotExist"}]},
)
_CRITERIA: dict[str, tuple[Any, ...]] = {
    "namespaces": (["shop"], ["shop-*", "other"], ["*-dev"], list(NAMESPACES)),
    "names": (["legacy-*"], ["web"], ["w?b", "*-2"]),
    "users": (["ann"], ["system:serviceaccount:shop:*"], ["b?b"]),
    "groups": (["devs"], ["system:*accounts"], ["none", "ops"]),
    "operations": (["CREATE"], ["UPDATE", "DELETE"]),
    "objectSelector": _SELECTORS,
}
_VARIABLES: list[JSONObject] = [
    {"name": "labels", "expression": "object.?metadata.?labels.orValue({})"},
    {"name": "images", "expression": "object.?spec.?containers.orValue([]).map(c, c.image)"},
    {"name": "strict", "expression": "object.metadata.labels.env == 'prod' // may err"},
    {"name": "limit", "expression": "params.limits.containers"},
]
_CONDITIONS = (
    "object != null && object.metadata.name != 'web-2'",
    "request.operation != 'DELETE'",
    "object.metadata.labels.tier in params.values",
    "request.namespace.startsWith('shop')",
    "!(request.userInfo.username in ['bob'])",
    "object == null || oldObject == null || object != oldObject",
    "params['a-b'] == true && has(params.limits.memory)",
    "(object == null ? oldObject : object).?metadata.?annotations.orValue({}).size() < 3",
    "namespaceObject == null",
)
_ANY_EXPRESSIONS = (
    "object.metadata.labels[params.key] in params.values",
    "has(object.metadata.labels) && params.key in object.metadata.labels",
    "object.?metadata.?labels[?'app'].orValue('') == 'web'",
    "object.kind == 'Pod' && object.apiVersion == 'v1'",
    "object.metadata.namespace == request.namespace",
    "object == null || object.metadata.?name.orValue('web') != 'legacy-db'",
    "oldObject == null || object == oldObject",
    "oldObject == null || object.metadata == oldObject.metadata",
    "object.metadata.?annotations.orValue({}).all(k, v, v != '')",
    "variables.strict || variables.labels.size() > 1",
    "variables.labels == {}",
    "namespaceObject.metadata.labels.env == 'prod'",
    "request.userInfo.groups.exists(g, g in ['devs', 'ops'])",
    "[object].exists(object, has(object.metadata) && !has(object.metadata.labels))",
    "[params].all(params, params.limits.containers == 2) && params.nothing == null",
    "double(object.metadata.annotations['count']) > params.ratio",
    "!('example.com/team' in object.metadata.labels)\n  // on two lines\n  || params.ratio > 1.0",
    "dyn(object).?spec.?type.orValue('ClusterIP') == 'ClusterIP' && request.kind.kind != 'Service'",
    "object.?data.orValue({}).all(k, int(object.data[k]) > 0)",
    "authorizer.group('').resource('pods').namespace('shop').check('create').allowed()",
)
_POD_EXPRESSIONS = (
    "object.spec.containers.all(c, c.image.startsWith(params.registry))",
    "size(object.spec.containers) < variables.limit",
    "variables.images.all(i, i.contains('@sha256:') || !i.endsWith(':latest'))",
    "!object.?spec.?hostNetwork.orValue(false)",
    "object.spec.containers.all(c, quantity(c.resources.limits.memory)"
    ".compareTo(quantity(params.limits.memory)) <= 0)",
    "object.spec.securityContext.runAsNonRoot == true",
    "has(object.spec.volumes) ? object.spec.volumes.all(v, !has(v.hostPath)) : true",
    "oldObject == null || oldObject.spec.containers.map(c, c.image) == variables.images",
    "(oldObject == null ? object : oldObject).spec.containers.size() >= 1",
    "object.spec == oldObject.spec",
    "object.spec.?restartPolicy.orValue('Always') == 'Always'",
)
_MESSAGES = (
    "'name ' + object.metadata.name + ', kind ' + object.kind",
    "'of ' + request.operation + ': ' + string(params.limits.containers)",
    "string(object.metadata.labels['tier'])",
    "'  '",
    "'two\\nlines'",
    "variables.images.join(', ')",
    "'in ' + object.metadata.namespace + ' by ' + request.userInfo.username",
)
_ANNOTATIONS = (
    "'images: ' + variables.images.join(' ')",
    "request.operation == 'CREATE' ? '' : 'updated'",
    "string(object.metadata.labels.tier)",
    "string(params.limits.containers) + object.kind",
)
_ANY_PATTERNS: tuple[JSONObject, ...] = (
    {"metadata": {"labels": {"app": "?*"}}},
    {"metadata": {"labels": {"tier": "web | db"}}},
    {"metadata": {"=(labels)": {"=(tier)": "!web"}}},
    *(
        {"metadata": {"annotations": {"count": each}}}
        for each in (">=1", "<1h45m", "1-5", "1!-1Gi", "!1", 5, 0.5, True, None, "1 | >1Ki", "-*")
    ),
    {"metadata": {"=(annotations)": {"=(example.com/*)": "ann"}}},
    {"metadata": {"=(labels)": {"X(env)": None}}},
    {"metadata": {"labels": {"(env)": "prod", "example.com/team": "*"}}},
    {"metadata": {"name": "web*", "=(annotations)": {"note": "?*"}}},
    {"metadata": {"<(labels)": {"app": "web"}, "annotations": {"note": "*"}}},
    {"metadata": {"=(labels)": {"exa*/team": "team-?"}}},
    {"kind": "Pod | ConfigMap"},
)
_POD_PATTERNS: tuple[JSONObject, ...] = (
    {"spec": {"=(hostNetwork)": False}},
    {"spec": {"containers": [{"image": "registry.example.com/* | nginx"}]}},
    {"spec": {"containers": [{"image": "!*:latest"}]}},
    {"spec": {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]}},
    {"spec": {"containers": [{"resources": {"limits": {"memory": "<=128Mi"}}}]}},
    {"spec": {"containers": [{"=(resources)": {"=(limits)": {"=(cpu)": "250m-1"}}}]}},
    {"spec": {"^(containers)": [{"name": "a"}]}},
    {"spec": {"^(containers)": [{"ports": [{"containerPort": "80-443"}]}, {"name": "b"}]}},
    {
        "spec": {
            "containers": [{"=(ports)": [{"=(hostPort)": 0, "containerPort": "<1024 | >8000"}]}]
        }
    },
    {"spec": {"=(securityContext)": {"=(runAsUser)": ">0", "=(runAsNonRoot)": True}}},
    {"spec": {"containers": [{"=(securityContext)": {"=(privileged)": False}}]}},
    {"spec": {"containers": [{"securityContext": {"capabilities": {"drop": ["ALL"]}}}]}},
    {"spec": {"containers": [{"name": "a", "(env)": [{"name": "A"}]}, {"name": "b | sidecar"}]}},
    {"spec": {"=(volumes)": [{"X(hostPath)": None}]}},
    {"spec": {"X(initContainers)": None, "=(terminationGracePeriodSeconds)": "5!-30"}},
    {"spec": {"=(tolerations)": [{"key": "?*"}], "=(nodeSelector)": {"disk": "ssd"}}},
    {"spec": {"=(automountServiceAccountToken)": "false", "hostPID": None}},
    {"spec": {"containers": [{"<(name)": "sidecar", "image": "nginx*"}]}},
    {"spec": {"containers": [{"args": ["--*"]}]}},
    {"spec": {"containers": [{"=(livenessProbe)": {"httpGet": {"port": 80, "path": "/*"}}}]}},
    {"spec": {"containers": [{"livenessProbe": {"=(httpGet)": {"port": "http* | >=80"}}}]}},
    {"spec": {"containers": [{"env": [{"name": "A", "value": "?*"}]}]}},
    {"spec": {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30}},
)
_ANY_OVERLAYS: tuple[JSONObject, ...] = (
    {"metadata": {"labels": {"+(tier)": "web"}}},
    {"metadata": {"labels": {"tier": "db", "made-by": "${request.operation}"}}},
    {"metadata": {"labels": {"env": None}}},
    {"metadata": {"annotations": {"note": "for ${object.metadata.name}", "+(count)": "1"}}},
    {"metadata": {"(name)": "web*", "labels": {"app": "web"}}},
    {"metadata": {"=(labels)": {"=(env)": "prod"}, "annotations": {"prod": "yes"}}},
    {"metadata": {"annotations": {"team": "${object.metadata.?labels[?'example.com/team']}"}}},
    {
        "metadata": {
            "annotations": {"example.com/owner": None, "limit": "${string(variables.limit)}"}
        }
    },
    {"metadata": {"labels": {"copied": "${object.metadata.labels.tier}"}}},
    {"metadata": {"X(annotations)": None, "annotations": {"first": "1"}}},
)
_POD_OVERLAYS: tuple[JSONObject, ...] = (
    {"spec": {"+(terminationGracePeriodSeconds)": 7}},
    {"spec": {"terminationGracePeriodSeconds": 10, "hostNetwork": None}},
    {"spec": {"securityContext": {"+(runAsNonRoot)": True}}},
    {"spec": {"securityContext": {"seccompProfile": {"+(type)": "RuntimeDefault"}}}},
    {"spec": {"nodeSelector": {"disk": "ssd", "kubernetes.io/os": None}}},
    {"spec": {"containers": [{"(name)": "*", "+(imagePullPolicy)": "Always"}]}},
    {"spec": {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]}},
    {"spec": {"containers": [{"name": "a", "env": [{"name": "ADDED", "value": "1"}]}]}},
    {
        "spec": {
            "containers": [
                {"(name)": "?*", "env": [{"name": "A", "value": "${object.metadata.name}"}]}
            ]
        }
    },
    {"spec": {"containers": [{"name": "injected", "image": "nginx:1.25"}]}},
    {"spec": {"containers": [{"(name)": "side*", "$patch": "delete"}]}},
    {"spec": {"containers": [{"(name)": "*", "resources": {"limits": {"+(memory)": "256Mi"}}}]}},
    {"spec": {"containers": [{"name": "b", "args": ["--only"], "stdin": True}]}},
    {"spec": {"containers": [{"(name)": "*", "args": [{"$patch": "append"}, "--more"]}]}},
    {"spec": {"containers": [{"name": "a", "securityContext": {"privileged": None}}]}},
    # A list that replaces the tolerations would also replace those that the API server adds after
    # the first mutating webhook, and adds again if that is not called once more.
    {"spec": {"tolerations": [{"$patch": "append"}, {"key": "x", "operator": "Exists"}]}},
    {"spec": {"containers": [{"(name)": "a", "env": [{"name": "A", "value": "set"}]}]}},
    {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80, "name": "set"}]}]}},
    {"spec": {"containers": [{"name": "a", "env": [{"name": "A", "$patch": "delete"}]}]}},
    {"spec": {"imagePullSecrets": [{"name": "pull"}]}},
    {"spec": {"volumes": [{"name": "tmp", "emptyDir": {}}]}},
    {"spec": {"(hostNetwork)": True, "dnsPolicy": "ClusterFirstWithHostNet"}},
    {"spec": {"automountServiceAccountToken": "${object.spec.containers.size() > 1}"}},
    {"spec": {"containers": [{"name": "a", "^(ports)": [{"containerPort": "80"}], "tty": True}]}},
)
_ANY_PATCHES = (
    "[JSONPatch{op: 'add', path: '/metadata/labels/x', value: params.key}]",
    "has(object.metadata.labels) ? [JSONPatch{op: 'add', path: '/metadata/labels/'"
    " + jsonpatch.escapeKey('example.com/by'), value: request.operation}] : []",
    "[JSONPatch{op: 'test', path: '/metadata/labels/app', value: 'web'},"
    " JSONPatch{op: 'replace', path: '/metadata/labels/app', value: 'db'}]",
    "[JSONPatch{op: 'remove', path: '/metadata/annotations/note'}]",
    "[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'all': object.metadata.namespace}}]",
    "variables.labels.size() > 0 ? [JSONPatch{op: 'copy', from: '/metadata/labels',"
    " path: '/metadata/annotations'}] : []",
)
_POD_PATCHES = (
    "object.spec.containers.map(c, JSONPatch{op: 'add', path: '/spec/containers/0/imagePullPolicy',"
    " value: 'Always'})",
    "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'disk': params.values[0]}}]",
    "[JSONPatch{op: 'add', path: '/spec/containers/-',"
    " value: Object.spec.containers{name: 'added', image: params.registry + 'x:1'}}]",
    "[JSONPatch{op: 'replace', path: '/spec/terminationGracePeriodSeconds', value: variables.limit}]",
)
_ANY_CONFIGURATIONS = (
    "Object{metadata: Object.metadata{labels: {'x': string(params.key), 'env': 'dev'}}}",
    "Object{metadata: Object.metadata{annotations: {'kind': object.kind}}}",
    "has(object.metadata.labels) ? Object{metadata: Object.metadata{labels:"
    " object.metadata.labels.transformMap(k, v, v + 'x')}} : Object{}",
    "Object{metadata: Object.metadata{?labels: object.metadata.?annotations}}",
)
_POD_CONFIGURATIONS = (
    "Object{spec: Object.spec{terminationGracePeriodSeconds: params.limits.containers}}",
    "Object{spec: Object.spec{containers: object.spec.containers.map(c,"
    " Object.spec.containers{name: c.name, imagePullPolicy: 'Always'})}}",
    "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'late', image: 'nginx'}],"
    " securityContext: Object.spec.securityContext{runAsNonRoot: true}}}",
    "Object{spec: Object.spec{volumes: [Object.spec.volumes{name: 'tmp',"
    " emptyDir: Object.spec.volumes.emptyDir{}}]}}",
)
