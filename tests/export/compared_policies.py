"""Random policies and requests, to compare an export with its source."""

from typing import Any

from hypothesis import strategies as st

from policyd.cel.env import Environment
from policyd.cel.types.types import BOOL, DYN
from policyd.errors import CelCompileError
from policyd.json_types import JSON, JSONObject
from tests.builders.policies import policy, rule
from tests.export import expressions
from tests.export.template_requests import CONTROLLERS, controller

_PODS_AND_MORE = (
    rule("pods", "services", operations=["*"]),
    rule("pods", operations=["CREATE", "UPDATE"]),
    rule("pods", "pods/ephemeralcontainers", operations=["CREATE", "UPDATE", "DELETE"]),
)
_PLAIN = Environment.admission(params=True)
_WITH_VARIABLES = _PLAIN.with_variables({"whole": DYN})


def _compiling(environment: Environment, *roots: str) -> st.SearchStrategy[str]:
    def compiles(text: str) -> bool:
        try:
            environment.check(text, expect=(BOOL,))
        except CelCompileError:
            return False
        return True

    fixed = st.sampled_from(
        (
            "true",
            "false",
            "int(object.spec.name) == 1",
            "object.spec.a == params.a",
            "object.?metadata.?labels[?'a'].orValue('') == 'v'",
            "oldObject == null || object.?spec != oldObject.?spec",
            "object.spec.name.startsWith('a') // is it?",
        )
    )
    return st.one_of(fixed, expressions.conditions(*roots).filter(compiles))


_conditions = _compiling(_PLAIN, *expressions.ROOTS)
_validations = _compiling(_WITH_VARIABLES, *expressions.ROOTS, "variables.whole")
_messages = st.sampled_from(
    (
        "'a: ' + string(object.spec.a)",
        "'is ' + request.operation",
        "''",
        "object.metadata.labels.map(k, k + '=' + object.metadata.labels[k]).join(',')",
        "'kind ' + object.kind + ' in ' + object.metadata.namespace + string(params.a)",
    )
)
_selectors: st.SearchStrategy[JSONObject] = st.one_of(
    st.dictionaries(st.sampled_from(("a", "env")), st.sampled_from(("v", "")), min_size=1).map(
        lambda labels: {"matchLabels": labels}
    ),
    st.sampled_from(
        (
            {"key": "a", "operator": "In", "values": ["v", ""]},
            {"key": "a", "operator": "NotIn", "values": ["v"]},
            {"key": "env", "operator": "Exists"},
            {"key": "env", "operator": "DoesNotExist"},
        )
    ).map(lambda expression: {"matchExpressions": [expression]}),
)
_wildcards = st.lists(
    st.sampled_from(("*", "w*", "*b", "*e*", "w?b", "web", "ann", "dev?", "sh[o]p", "shop")),
    min_size=1,
    max_size=2,
)


@st.composite
def exceptions(draw: st.DrawFn, number: int, validations: list[str]) -> JSONObject:
    """One exception; it may be from some validations only."""
    found = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "namespaces": _wildcards,
                "names": _wildcards,
                "users": _wildcards,
                "groups": _wildcards,
                "operations": st.lists(st.sampled_from(("CREATE", "DELETE")), min_size=1),
                "objectSelector": _selectors,
                "until": st.just("2020-02-29"),
            },
        )
    )
    names = draw(st.lists(st.sampled_from(validations), max_size=2, unique=True))
    own = {"validations": names} if names else {}
    name = draw(st.sampled_from(("legacy", "The old one!")))
    return {"name": f"{name} {number}" if number else name, **found, **own}


_patterns: st.SearchStrategy[JSONObject] = st.sampled_from(
    (
        {"spec": {"a": "v"}},
        {"spec": {"a": None}},
        {"metadata": {"=(labels)": {"X(a)": None}}},
        {"metadata": {"namespace": "sh*"}, "kind": "Pod"},
        {"metadata": {"labels": {"a": "?*", "env": "!v"}}},
    )
)


@st.composite
def policies(draw: st.DrawFn) -> JSONObject:
    """A Policy that validates Pods."""
    chosen = draw(st.lists(_validations, min_size=1, max_size=3))
    names = [f"v{index}" for index in range(len(chosen))]
    validations: list[JSONObject] = [
        {"name": name, "expression": text, **draw(_more)}
        for name, text in zip(names, chosen, strict=True)
    ]
    if draw(st.booleans()):
        validations.append({"name": "pattern", "pattern": draw(_patterns), "message": "not it"})
        names.append("pattern")
    conditions = [
        {"name": f"c{index}", "expression": text}
        for index, text in enumerate(draw(st.lists(_conditions, max_size=2)))
    ]
    selector = draw(st.none() | _selectors)
    excepted = [draw(exceptions(number, names)) for number in range(draw(st.integers(0, 2)))]
    spec: dict[str, Any] = {
        "params": draw(expressions.params),
        "podControllers": draw(st.booleans()),
        "matchConditions": conditions,
        "variables": [{"name": "whole", "expression": draw(st.sampled_from(("object", "params")))}],
        "validations": validations,
        "failurePolicy": draw(st.sampled_from(("Fail", "Ignore"))),
        "validationActions": draw(
            st.sampled_from((["Deny"], ["Warn", "Audit"], ["Deny", "Audit"]))
        ),
        "auditAnnotations": draw(
            st.sampled_from(([], [{"key": "a", "valueExpression": "string(object.spec.a)"}]))
        ),
        "exceptions": excepted,
    }
    match = {} if selector is None else {"objectSelector": selector}
    return policy("p", draw(st.sampled_from(_PODS_AND_MORE)), match=match, **spec)


_more: st.SearchStrategy[JSONObject] = st.fixed_dictionaries(
    {"message": st.sampled_from(("no", "not so"))},
    optional={
        "messageExpression": _messages,
        "reason": st.sampled_from(("Forbidden", "RequestEntityTooLarge")),
    },
)


@st.composite
def requests(draw: st.DrawFn) -> JSONObject:
    """A request for a Pod, or for a controller with it as its template."""
    operation = draw(st.sampled_from(("CREATE", "UPDATE", "DELETE")))
    new, old = draw(expressions.templates), draw(expressions.templates)
    if draw(st.booleans()):
        kind, resource, group, path = draw(st.sampled_from(CONTROLLERS))
        objects = [controller(each, kind, group, path) for each in (new, old)]
    else:
        kind, resource, group = "Pod", "pods", ""
        objects = [_pod(each) for each in (new, old)]
    version = {"group": group, "version": "v1"}
    present: tuple[JSON, JSON] = {
        "CREATE": (objects[0], None),
        "UPDATE": (objects[0], objects[1]),
        "DELETE": (None, objects[1]),
    }[operation]
    return {
        "uid": "u",
        "kind": {**version, "kind": kind},
        "resource": {**version, "resource": resource},
        "requestKind": {**version, "kind": kind},
        "requestResource": {**version, "resource": resource},
        "name": draw(st.sampled_from(("web", ""))),
        "namespace": draw(st.sampled_from(("shop", "web"))),
        "operation": operation,
        "userInfo": draw(_users),
        "object": present[0],
        "oldObject": present[1],
    }


_users: st.SearchStrategy[JSONObject] = st.fixed_dictionaries(
    {},
    optional={
        "username": st.sampled_from(("ann", "web")),
        "groups": st.lists(st.sampled_from(("devs", "shop")), max_size=2),
    },
)


def _pod(template: JSONObject) -> JSONObject:
    metadata = {**template.get("metadata", {}), "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata}
