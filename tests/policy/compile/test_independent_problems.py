"""No problem of a document hides another, and none follows from another: two mistakes in different
places have the problems of each.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from itertools import combinations

import orjson
import pytest
import yaml

from policyd.json_types import JSON, FieldPath, object_in
from policyd.policy.compile.compiler import check
from policyd.policy.source.loader import load_text
from tests.sampling import sampled

POLICY = """
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: a, labels: {team: x}}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
    objectSelector:
      matchExpressions: [{key: a, operator: In, values: [x]}, {key: b, operator: Exists}]
  matchConditions: [{name: one, expression: 'true'}, {name: two, expression: 'true'}]
  params: {n: 1}
  reads:
  - {name: pods, apiVersion: v1, kind: Pod}
  - {name: services, apiVersion: v1, kind: Service, key: item.metadata.name}
  variables: [{name: v, expression: object.spec}, {name: w, expression: variables.v.x}]
  validationActions: [Deny, Audit]
  validations:
  - {name: p, expression: has(variables.w) && reads.pods.size() > 0, message: m, reason: Invalid}
  - {expression: "reads.services['a'].size() > 0 && params.n == 1", messageExpression: "'a'"}
  - {pattern: {spec: {x: '1'}}, message: q}
  auditAnnotations: [{key: k, valueExpression: "'a'"}, {key: l, valueExpression: "'a'"}]
  mutations:
  - {patchType: Overlay, overlay: {metadata: {labels: {a: '${variables.v.y}'}}}}
  - {patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'remove', path: '/a'}]"}}
  exceptions:
  - {name: e, reason: r, namespaces: [x], validations: [p]}
  - {name: f, reason: r, namespaces: [x], until: '2030-01-01'}
  rollout: {enforce: {percent: 5}, otherwise: [Audit]}
"""
# What is written in place of a field, or of an item of a list.
POLICY_MISTAKES = """
metadata: {label: {}}
metadata.labels: {team: 3, a b: x}
spec: {description: no, colour: 1, paramKind: {kind: ConfigMap}, failurePolicy: fail}
spec.matchConstraints: {matchPolicy: exact}
spec.matchConstraints.resourceRules: {1: pods}
spec.matchConstraints.resourceRules.0: {operations: [create], apiGroups: '', apiVersions: [1]}
spec.matchConstraints.resourceRules.1: {resources: [], operations: CREATE}
spec.matchConstraints.objectSelector.matchExpressions.0: {operator: in}
spec.matchConstraints.objectSelector.matchExpressions.1: {values: [a], key: a b}
spec.matchConditions: {1: 'true'}
spec.matchConditions.0: {name: a b, expression: nope}
spec.reads: {1: x}
spec.reads.0: {name: a-b, kind: Secret, maxStalenessSeconds: 1h}
spec.reads.1: {key: 3}
spec.variables: {1: x}
spec.variables.0: {name: v-1, expression: object.spec +}
spec.variables.1: {name: 3, expression: 5}
spec.validations: {1: x}
spec.validations.0: {message: no, expression: nope, reason: invalid, mesage: x}
spec.validations.1: {messageExpression: 7, expression: '1', name: p}
spec.validations.2.pattern: {^(a): x}
spec.auditAnnotations.0: {key: b a}
spec.auditAnnotations.1: {valueExpression: 1}
spec.mutations.0.overlay: {spec: {contaners: []}}
spec.mutations.0.overlay.metadata.labels: {a: '${nope}'}
spec.mutations.1: {jsonPatch: '[]', applyConfiguration: {expression: 'Object{}'}}
spec.exceptions: {1: x}
spec.exceptions.0: {validations: [zz]}
spec.exceptions.1: {until: '2030', namespaces: [], operations: [create]}
spec.rollout: {otherwise: [audit]}
spec.rollout.enforce: {percent: 500}
"""
SUITE = """
apiVersion: policyd.dev/v1
kind: PolicyTest
metadata: {name: s}
policies: [p.yaml]
namespaces: [{name: x, labels: {a: b}}]
cases:
- name: a
  request: {object: {apiVersion: v1, kind: Pod, metadata: {name: x}}}
  expect: {allowed: true}
- name: b
  request: {object: {apiVersion: v1, kind: Pod, metadata: {name: x}}}
  table:
  - {name: r, set: {spec.hostNetwork: true}, expect: {allowed: false}}
  - {name: q, expect: {allowed: true}}
- name: c
  request: {object: {apiVersion: v1, kind: Pod, metadata: {name: x}}}
  expect: {allowed: true}
"""
SUITE_MISTAKES = """
'': {policies: x, defaults: 'no'}
metadata: {name: ''}
namespaces.0: {labels: x}
cases: {2: x}
cases.0: {name: '', expect: deny, request: x, webhook: validating}
cases.0.expect: {alowed: true}
cases.1.table: {1: x}
cases.1.table.0: {set: x, expect: {}, remove: [3]}
cases.2: {name: 5}
cases.2.request: {operation: create}
cases.2.expect: {allowed: 'yes'}
"""
EXCEPTION = """
apiVersion: policyd.dev/v1
kind: PolicyException
metadata: {name: e}
spec:
  policies: [{name: a}, {name: b, validations: [0]}]
  resources: [{kinds: [Pod], namespaces: [x]}]
  subjects: [{kind: User, name: x}]
  reason: r
  until: '2030-01-01'
"""
EXCEPTION_MISTAKES = """
metadata: {name: A}
spec: {until: soon, reason: 5, resource: []}
spec.policies: {1: x}
spec.policies.0: {name: '', validations: []}
spec.policies.1: {validations: [-1]}
spec.resources.0: {kinds: Pod, operations: [create], namespaces: []}
spec.subjects.0: {kind: user, name: ''}
"""
# Fields that may hold anything, or whose documents are then of another kind.
FREE = ("params", "overlay", "pattern", "set", "object", "apiVersion", "kind")
Mistake = tuple[FieldPath, JSON]


def mistakes(text: str) -> Iterator[Mistake]:
    for at, written in yaml.safe_load(text).items():
        path = [int(each) if each.isdigit() else each for each in filter(None, at.split("."))]
        for field, value in written.items():
            yield (*path, field), value


PAIRS = [
    (kind, *pair)
    for kind, rows in (
        (POLICY, POLICY_MISTAKES),
        (SUITE, SUITE_MISTAKES),
        (EXCEPTION, EXCEPTION_MISTAKES),
    )
    for pair in combinations(mistakes(rows), 2)
    if pair[0][0] != pair[1][0][: len(pair[0][0])]
]


read = cache(yaml.safe_load)


def problems(text: str, *written: Mistake) -> set[tuple[str, str]]:
    document = deepcopy(read(text))
    for (*parents, field), value in written:
        holder = document
        for each in parents:
            holder = holder[each]
        holder[field] = value
    found = check(load_text(orjson.dumps(document).decode()))
    return {(each.path, each.message) for each in found}


@cache
def of_one(text: str, mistake: str) -> set[tuple[str, str]]:
    """The problems of one mistake, of which many pairs consist."""
    path, value = orjson.loads(mistake)
    return problems(text, (path, value))


def places(value: JSON, path: FieldPath = ()) -> Iterator[FieldPath]:
    """Yield the paths of everything in a value, but not in what may hold anything."""
    listed = enumerate(value) if isinstance(value, list) else object_in(value).items()
    for step, each in listed:
        if step not in FREE:
            yield (*path, step)
            yield from places(each, (*path, step))


@pytest.mark.parametrize("wrong", [-7, [[7]], {"a": 7}], ids=str)
@pytest.mark.parametrize("text", [POLICY, SUITE, EXCEPTION], ids=["policy", "suite", "exception"])
def test_a_value_of_another_type_is_a_problem(text: str, wrong: JSON) -> None:
    missed = [path for path in places(yaml.safe_load(text)) if not problems(text, (path, wrong))]
    assert missed == []


def test_without_mistakes_there_are_no_problems() -> None:
    assert [problems(each) for each in (POLICY, SUITE, EXCEPTION)] == [set(), set(), set()]


@pytest.mark.parametrize(("text", "one", "other"), sampled(PAIRS))
def test_two_mistakes_have_the_problems_of_each(text: str, one: Mistake, other: Mistake) -> None:
    first, second = (of_one(text, orjson.dumps(each).decode()) for each in (one, other))
    assert first and second
    assert problems(text, one, other) == first | second
