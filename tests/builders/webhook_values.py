"""Values of the fields of webhook configurations: what changes in a valid one, by the name of the
case. ``...`` removes a field. No tests here.
"""

from policyd.json_types import JSON, JSONObject

LONG = "a" * 63
SUBDOMAIN = ".".join([LONG, LONG, LONG, "a" * 61])  # 253 characters


def _field(field: str, *values: JSON) -> dict[str, JSONObject]:
    return {f"{field}: {shown(value)}": {field: value} for value in values}


def shown(value: JSON) -> str:
    return "missing" if value is ... else repr(value)[:250]


def _rules(**fields: JSON) -> JSONObject:
    rule: JSONObject = {
        "operations": ["CREATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
        **fields,
    }
    return {"rules": [{name: value for name, value in rule.items() if value is not ...}]}


def _rule(field: str, *values: JSON) -> dict[str, JSONObject]:
    return {f"rules.{field}: {shown(value)}": _rules(**{field: value}) for value in values}


def _inside(outer: str, *values: JSON) -> dict[str, JSONObject]:
    return {f"{outer} {shown(value)}": {outer: value} for value in values}


def _url(*urls: str) -> dict[str, JSONObject]:
    return {f"url {url!r}": {"clientConfig": {"url": url}} for url in urls}


def _service(*services: JSON) -> dict[str, JSONObject]:
    return {f"service {shown(each)}": {"clientConfig": {"service": each}} for each in services}


def _path(*paths: JSON) -> dict[str, JSONObject]:
    service = {"namespace": "ns", "name": "web"}
    return {
        f"path {shown(path)}": {"clientConfig": {"service": {**service, "path": path}}}
        for path in paths
    }


def _port(*ports: JSON) -> dict[str, JSONObject]:
    service = {"namespace": "ns", "name": "web"}
    return {
        f"port {shown(port)}": {"clientConfig": {"service": {**service, "port": port}}}
        for port in ports
    }


def _expressions(*expressions: str) -> dict[str, JSONObject]:
    return {
        f"expression {expression!r}"[:250]: {
            "matchConditions": [{"name": "a", "expression": expression}]
        }
        for expression in expressions
    }


def _conditions(*conditions: JSON) -> dict[str, JSONObject]:
    return {f"matchConditions {shown(each)}": {"matchConditions": each} for each in conditions}


def _selectors(*selectors: JSON) -> dict[str, JSONObject]:
    found = {}
    for each in selectors:
        found[f"namespaceSelector {shown(each)}"] = {"namespaceSelector": each}
        found[f"objectSelector {shown(each)}"] = {"objectSelector": each}
    return found


def _expression(key: JSON, operator: JSON, *values: JSON) -> JSONObject:
    requirement = {"key": key, "operator": operator, "values": list(values)}
    return {"matchExpressions": [{k: v for k, v in requirement.items() if v not in (..., [])}]}


HOOKS: dict[str, JSONObject | list[JSONObject]] = {
    "valid": {},
    "no webhooks": [],
    "two": [{}, {"name": "b.example.com"}],
    "duplicate": [{}, {}],
    "three alike": [{}, {"name": "b.example.com"}, {}, {}],
    "duplicate and unnamed": [{"name": ""}, {"name": ""}],
    "invalid in several": [{"name": "a", "sideEffects": "Some"}, {"timeoutSeconds": 0, "rules": [{}]}],
    "everything": {
        "clientConfig": {
            "service": {"namespace": "ns", "name": "web", "path": "/validate", "port": 8443},
            "caBundle": "Z2FyYmFnZQ==",
        },
        "failurePolicy": "Ignore",
        "matchPolicy": "Exact",
        "namespaceSelector": {"matchLabels": {"a": "b"}},
        "objectSelector": _expression("a", "In", "b"),
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": 30,
        "admissionReviewVersions": ["v1", "v1beta1"],
        "matchConditions": [{"name": "a", "expression": "true"}],
    },
    "nothing but a name": {
        "admissionReviewVersions": ...,
        "sideEffects": ...,
        "clientConfig": ...,
        "rules": ...,
    },
    **_field(
        "name", ..., "", "a", "a.b", "a.b.c", "A.b.c", "a..c", "a.b.c.", ".a.b", "-a.b.c", "a.b.c-",
        "a_b.c.d", "a.b.c\n", "é.b.c", "a b.c.d", "1.2.3", f"{LONG}a.b.c", SUBDOMAIN, f"{SUBDOMAIN}a",
        "a\"b.c.d", "<a>.b.c", "a\\b.c.d", "\u2028.b.c", None, 1, 1.5, True, ["a.b.c"], {},
    ),
    **_field(
        "admissionReviewVersions", ..., None, [], ["v1"], ["v1beta1"], ["v2"], ["v1", "v1"], ["v2", "v1"],
        ["V1"], [""], ["1"], ["v1", "", "v1", "x_y", "x_y"], ["v" * 64, "v1"], ["v1", "v1beta1"],
        ["v1.1", "v1"], "v1", [1], [None], {},
    ),
    **_field("failurePolicy", "Fail", "Ignore", None, "", "fail", "Retry", 1, "a\"<b>"),
    **_field("matchPolicy", "Exact", "Equivalent", None, "", "exact", "Any", []),
    **_field(
        "sideEffects", ..., None, "None", "NoneOnDryRun", "Some", "Unknown", "", "none", True,
    ),
    **_field(
        "timeoutSeconds", None, 1, 10, 30, 31, 0, -1, 2147483647, 2147483648, -2147483649, "10", 10.0, 10.5,
        1e1, 10**20, True, [],
    ),
    **_field("reinvocationPolicy", "Never", "IfNeeded", "Always", "", None, 1),
    **_field("clientConfig", ..., None, {}, [], "https://a", {"url": None}, {"service": None}),
    **_field(
        "rules", ..., None, [], [{}], [None], {}, "pods", ["pods"], [{}, {}], [[]],
        [{"operations": None, "apiGroups": None, "apiVersions": None, "resources": None}],
    ),
    "url and service": {
        "clientConfig": {"url": "https://a", "service": {"namespace": "ns", "name": "web"}}
    },
    "broken url and broken service": {"clientConfig": {"url": "http://", "service": {}}},
    **_url(
        "https://a", "https://a/", "https://a:8443/b", "https://a.b.c/d/e?", "", "a", "/a", "//a/b", "https:",
        "https:a", "https:/a", "https://", "https:///a", "https://:443", "http://a", "HTTPS://a", "ftp://a/b",
        "https://u@a", "https://u:p@a/b", "https://u:p%40@a", "https://@a", "https://u%zz@a", "https://u<@a",
        "https://a#", "https://a#b", "https://a/#b%20c", "https://a/#%zz", "https://a?b=c", "https://a?b#c",
        "http://u:p@?q#f", "https://a/?", "https://a/b?c?d", "https://a??", ":", "://", ":a", "%", "%zz",
        "https://%41", "https://a%20b", "https://a/%zz", "https://a/%4", "https://a/%", "https://a/b c",
        "https://a b", " https://a", "https://a ", "https://a\n", "https://a/\x7f", "https://a:port",
        "https://a:99999", "https://a:", "https://a:b:c", "https://::1", "https://[::1]", "https://[::1]:443/b",
        "https://[::1", "https://[::1]a", "https://[a]", "https://[fe80::1%25en0]", "https://[fe80::1%en0]",
        "https://é", "https://é/ü?ö#ä", "https://<a>", "https://a\"b", "https://a/<b>", "1https://a", "a:b",
        "a.b:c", "https://a/../b", "https://a//b", "*", "https://a\\b", "https://10.0.0.1:1",
        "https://[::ffff:1.2.3.4]", "https://[1.2.3.4]", "\t", "https://a/\u2028", "https:/%\u2028",
    ),
    "url 1": {"clientConfig": {"url": 1}},
    "url and port": {"clientConfig": {"url": "https://a", "port": 443}},
    **_service(
        {}, {"name": "web"}, {"namespace": "ns"}, {"name": "", "namespace": ""}, [], "web", 1,
        {"name": "W E B", "namespace": "N_S"}, {"name": "web", "namespace": "ns"},
        {"name": 1, "namespace": "ns"}, {"name": None, "namespace": None}, {"path": "a//", "port": 0},
    ),
    **_path(
        "", "/", "//", "///", "////", "a", "ab", "/a", "/a/", "/a//", "/a/b", "/a//b", "/a///b", "/a/b/", "a/b", "a//",
        "/A", "/a_b", "/.", "/..", "/a.b/c-d", "/a?b", "/a b", "/%41", "/-", "/a/-b/c_", f"/{SUBDOMAIN}",
        f"/{SUBDOMAIN}a", "/a\n", "/é", "/a/é/B", "é", "éa/é", None, 1, "/a\"b<c>",
    ),
    **_port(1, 443, 8443, 65535, 65536, 0, -1, None, "443", 443.0, 443.5, 2147483648, True),
    **_field("caBundle", "Z2FyYmFnZQ=="),
    **{
        f"caBundle {shown(each)}": {"clientConfig": {"url": "https://a", "caBundle": each}}
        for each in list[JSON]((
            "", None, "Z2FyYmFnZQ==", "Z2FyYmFnZQ", "Z2FyYmFnZ", "not base64!", "Z2Fy\nYmFn", "Z2Fy YmFn", "-_-_",
            "YQ=", "YQ==", "YQ==YQ==", "=", "Y", "YR==", 1, [], "Z2Fy\r\n", [1, 255], [256], [-1], ["a"], [1.5], [True], {},
        ))
    },
    **_rule(
        "operations", ..., None, [], ["*"], ["CREATE", "UPDATE", "DELETE", "CONNECT"], ["*", "CREATE"], ["*", "*"],
        ["create"], ["PATCH"], [""], ["CREATE", "CREATE"], ["PATCH", "*", "get"], "CREATE", [1], [None],
        ["CREATE", "a<b>\""],
    ),
    **_rule("apiGroups", ..., None, [], [""], ["*"], ["*", "apps"], ["", "*"], ["apps/v1"], ["a b"], "apps", [1], ["<", "*"]),
    **_rule("apiVersions", ..., None, [], [""], ["*"], ["*", "v1"], ["v1", ""], ["", "*", ""], ["V 1"], "v1", [{}]),
    **_rule(
        "resources", ..., None, [], [""], ["*"], ["*/*"], ["pods/*"], ["*/scale"], ["pods/"], ["/status"], ["/"],
        ["pods", "pods"], ["*", "pods"], ["pods", "*"], ["*", "pods/status"], ["*", "*/scale"], ["*/*", "pods"],
        ["*/*", "*"], ["*/*", "pods/status"], ["pods/status", "*/*"], ["pods/*", "pods/status"],
        ["pods/status", "pods/*"], ["pods/*", "pods/*"], ["*/scale", "deployments/scale"],
        ["deployments/scale", "*/scale"], ["*/scale", "*/scale"], ["*/*", "*/*"], ["pods/*", "*/status"],
        ["*/*", "*/status"], ["*", "pods", "*"], ["pods", "*", "services/status"], ["a/b/c"],
        ["pods/*", "*/log", "pods/log"], ["pods", ""], ["PODS"], "pods", [1], ["*/*", ""], ["*", "", "pods"],
        ["pods/exec", "pods", "*/exec", "pods/exec", "*"], ["*/<a>", "b/<a>"],
    ),
    **_rule("scope", "*", "Namespaced", "Cluster", None, "", "namespaced", "All", 1),
    "two broken rules": {"rules": [{"operations": ["*"]}, {"resources": ["pods"], "scope": "x"}]},
    **_selectors(
        None, {}, {"matchLabels": {"a": "b"}}, {"matchLabels": {"": "b"}}, {"matchLabels": {"a b": "c"}},
        {"matchLabels": {"a": "b c"}}, {"matchLabels": {"a": "é"}}, {"matchLabels": {"a/b/c": "d"}},
        {"matchLabels": {"A.com/b": ""}}, {"matchLabels": {f"{LONG}a": "b"}}, {"matchLabels": {"a": f"{LONG}a"}},
        {"matchLabels": {"/a": "b"}}, {"matchLabels": {"a/": "b"}}, {"matchLabels": {f"{SUBDOMAIN}a/b": "c"}},
        {"matchLabels": {"a": 1}}, {"matchLabels": {"a": None}}, {"matchLabels": []}, {"matchExpressions": {}},
        {"matchExpressions": [{}]}, {"matchExpressions": []}, {"matchExpressions": [None]},
        _expression("a", "In", "b"), _expression("a", "NotIn", "b", "c"), _expression("a", "Exists"),
        _expression("a", "DoesNotExist"), _expression("a", "In"), _expression("a", "NotIn"),
        _expression("a", "Exists", "b"), _expression("a", "DoesNotExist", "b"), _expression("a", "in", "b"),
        _expression("a", "", "b"), _expression("a", ..., "b"), _expression(..., "In", "b"),
        _expression("", "Exists"), _expression("a b", "Exists"), _expression("a", "In", "b c", "d", "-"),
        _expression("a", "In", ""), _expression("a", "In", 1), _expression("a", "Gt", "1"),
        _expression("a", "Bad", "b c"), _expression("<", "Bad", "&"), {"matchFields": []}, [], "a=b",
    ),
    **_conditions(
        None, [], [{}], [None], {}, "true", ["true"], [{"name": "a"}], [{"expression": "true"}],
        [{"name": "", "expression": ""}], [{"name": "a b", "expression": "true"}],
        [{"name": "a/b", "expression": "true"}], [{"name": "a/b/c", "expression": "true"}],
        [{"name": "A.com/b", "expression": "true"}], [{"name": "A_b.c", "expression": "true"}],
        [{"name": f"{LONG}a", "expression": "true"}], [{"name": 1, "expression": "true"}],
        [{"name": "a", "expression": 1}], [{"name": "a", "expression": True}],
        [{"name": "a", "expression": "true"}, {"name": "a", "expression": "false"}],
        [{"name": "a", "expression": "x"}, {"name": "a", "expression": ""}, {"name": "a", "expression": "1"}],
        [{"name": "a", "expression": "true", "message": "b"}],
    ),
    "64 matchConditions": {
        "matchConditions": [{"name": f"a{n}", "expression": "true"} for n in range(64)]
    },
    "65 matchConditions": {
        "matchConditions": [{"name": f"a{n}", "expression": "true"} for n in range(65)]
    },
    "66 matchConditions with one name": {
        "matchConditions": [{"name": "a", "expression": "true"} for n in range(66)]
    },
    **_expressions(
        "", " ", "\n", "true", " true ", "\ttrue\n", "!(request.resource.group == 'coordination.k8s.io')",
        "1", "'a'", "null", "object", "object.spec", "object.metadata.name", "[true]", "{'a': true}", "bool('true')",
        "duration('1s')", "type(1)", "optional.of(true)", "dyn(true)", "dyn(1)",
        "1 +", "(", "true)", "'", "a.b.", "&& true", "true && ", "object.", "object..spec", "x ? y : z", "true\n&& (",
        "\n\n  1 +", "true // comment", "// comment", "`a`", "\"\\q\"", "0x", "99999999999999999999", "1u + 1 == 2",
        "x", "x == y", "objects.spec == 1", "params.x == 1", "variables.x", "namespaceObject.metadata.name == 'a'",
        "namespaceObject == null", "request.foo == 1", "request.object == 1", "request.operation == 'CREATE'",
        "request.userInfo.groups.exists(g, g == 'a')", "request.userInfo.name == 'a'", "request.dryRun",
        "authorizer.group('').resource('pods').check('get').allowed()",
        "authorizer.requestResource.check('get').allowed()", "authorizer.user == 'a'", "authorizer",
        "oldObject == null", "has(object.spec)", "has(object)", "has(object.spec.a) && object.spec.a == 1",
        "object.spec.containers.all(c, c.image.startsWith('a'))", "object.spec.containers.all(c)",
        "[1, 2].all(x, x > 0)", "[1, 'a'].all(x, x == 1)", "1 == 'a'", "1 + 'a' == 2", "size(1) == 1", "foo()",
        "'a'.foo()", "'a'.matches('[')", "'a'.matches('a')", "object.x.matches('[')", "quantity('1Mi').isGreaterThan(quantity('1'))",
        "quantity('x') == quantity('1')", "isQuantity('x')", "ip('1.2.3.4').family() == 4", "ip('x').family() == 4",
        "cidr('1.2.3.0/24').containsIP('1.2.3.4')", "url('https://a').getHost() == 'a'", "url('a').getHost() == 'a'",
        "format.named('dns1123Label').hasValue()", "format.dns1123Label().validate('a').hasValue()",
        "jsonpatch.escapeKey('a') == 'a'", "Object{} == 1", "sets.contains([1], [1])", "semver('1.2.3').major() == 1",
        "'%d'.format([1]) == '1'", "'%d'.format(['a']) == '1'", "'%z'.format([1]) == ''", "math.greatest(1, 2) == 2",
        "[1, 2].sum() == 3", "[[1]].flatten() == [1]", "[3, 1].sort() == [1]", "'a'.reverse() == 'a'",
        "cel.bind(x, 1, x == 1)", "timestamp('x') == timestamp('y')", "timestamp('2020-01-01T00:00:00Z') > timestamp('2019-01-01T00:00:00Z')",
        "duration('x') == duration('1s')", "int('x') == 1", "'a' in ['a']", "1 in ['a']", "object.?spec.?a.orValue(1) == 1",
        "[?optional.of(1)] == [1]", "{?'a': optional.of(1)} == {}", "object[?'a'].hasValue()", "1 / 0 == 1",
        "9223372036854775807 + 1 == 1", "-(-9223372036854775808) == 1", "true ? 1 : 'a'", "true ? true : 1",
        "!object.spec", "object.spec || 1", "object.spec && 'a'", "-object.spec == 1", "[1][0] == 1", "[1]['a'] == 1",
        "{1: 2}[1] == 2", "{1.5: 2}[1] == 2", "\"\\u00e9\" == 'é'", "'é' == x", "b'a' == b'a'", "r'\\d' == 'a'",
        "google.protobuf.Timestamp{} == 1", "int == type(1)", "_x == 1", "x.y.z(1) == 2", "in == 1", "for == 1", "namespace == 1",
        "object.namespace == 'a'", "object['namespace'] == 'a'", "object.in == 1", "true == true == true", "1 < 2 < 3",
        "!!true", "--1 == 1", "[1,2,].size() == 2", "{'a':1,}.size() == 1", "size([1,2,3,]) == 3", "f(1,)", "'''a\nb''' == 'a'",
        "'a\nb' == 'a'", "\"tab\\t\" == ''", "object.spec.replicas > 1.5", "1 > 1.5", "1 == 1.5", "1u == 1", "1u > 1",
        "string(1) == '1'", "string(object) == ''", "bytes('a') == b'a'", "double('1') == 1.0", "uint(-1) == 0u", "dyn([1]).all(x, x)",
        "request.kind.kind == 'Pod' && request.resource.resource == 'pods' && request.subResource == ''",
        "request.name.startsWith('a') || request.namespace.endsWith('b')", "request.options.kind == 'a'", "request.uid == 'a'",
        "request.requestKind.version == 'v1'", "request.requestSubResource == ''", "request.userInfo.extra['a'].exists(x, x == 'b')",
        "request == null", "request.userInfo.extra.a == ['b']", "authorizer.path('/a').check('get').allowed()",
        "authorizer.serviceAccount('a', 'b').group('').resource('c').check('d').allowed()", "authorizer.group('').check('get').allowed()",
        "authorizer.group('').resource('pods').check('get')", "authorizer.group('').resource('pods').fieldSelector('a=b').check('list').allowed()",
        "[1].map(x, y, x) == [1]", "[1].exists_one(x, x == 1)", "[1].existsOne(x, x == 1)", "[1].all(i, v, i == v)",
        "[1].transformList(i, v, i) == [0]", "[1].filter(x, x) == [1]", "[1].all(1, true)", "[1].all(x.y, true)", "has(1)", "has(x.y)",
        "object.all(x, x.y == 1)", "'a'.all(x, true)", "1.all(x, true)", "lists.range(3) == [0, 1, 2]", "'abc'.substring(1) == 'bc'",
        "a" * 300, "(" * 60 + "true" + ")" * 60, "true" + " && true" * 100, "\u00a0true", "tru\u00e9", "true\u2028", "\u0000",
    ),
    "unknown field": {"foo": 1},
    "unknown fields": {"foo": {"bar": 1}, "rules": [{"operations": ["CREATE"], "bar": 1, "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]},
    "unknown field of a rule": _rules(resourceNames=["a"]),
    "unknown field of a selector": {"namespaceSelector": {"matchLabel": {"a": "b"}}},
    "unknown field of a requirement": {"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Exists", "value": "b"}]}},
    "unknown field of a service": {"clientConfig": {"service": {"name": "a", "namespace": "b", "host": "c"}}},
    "unknown field beside an invalid one": {"timeout": 5, "timeoutSeconds": 50},
    "unknown field beside a wrong type": {"timeout": 5, "timeoutSeconds": "5"},
    "another case": {"Name": "b.example.com"},
    "another case only": {"name": ..., "Name": "b.example.com"},
    "two wrong types": {"timeoutSeconds": "5", "failurePolicy": 1},
    "wrong type and unknown": [{"rules": [{"operations": 1, "bar": 2}]}, {"name": 5, "foo": 6}],
    "excluded resources": _rules(apiGroups=["authentication.k8s.io", "authorization.k8s.io", ""], resources=["tokenreviews", "subjectaccessreviews", "pods", "tokenreviews"]),
    "excluded resources with wildcards": _rules(apiGroups=["*"], resources=["tokenreviews"]),
    "every excluded resource": [
        _rules(apiGroups=["authentication.k8s.io"], resources=["selfsubjectreviews", "tokenreviews/status", "*/*"]),
        {"name": "b.example.com", **_rules(apiGroups=["authorization.k8s.io"], resources=["localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"])},
    ],
}  # fmt: skip
