"""What kubectl prints of a denial: the message, or for the reason Invalid only the details."""

from typing import NamedTuple

import pytest

from policyd.json_types import JSONObject
from tests.builders.objects import container, pod
from tests.builders.policies import PODS, demand, json_patch, policy, vap, vap_binding
from tests.e2e.conftest import Install
from tests.e2e.kubectl import Kubectl
from tests.e2e.webhook import DENIED, PREFIX

HOST = demand("!object.spec.?hostNetwork.orValue(false)", "no host network")
TAG = {"pattern": {"spec": {"containers": [{"image": "!*:latest"}]}}, "message": "no latest"}
PLACE = 'expected !*:latest, found "web:latest"'
USER = demand("request.userInfo.username == 'ann'", "only ann may")
# The text of an error quotes the expression, here one of several lines.
LINES = {"expression": "object.metadata.annotations['a'] == 'b'\n  && true", "message": "a is b"}
ERROR = (
    "expression 'object.metadata.annotations['a'] == 'b'\n  && true' resulted in error: "
    "no such key: annotations"
)


BROKEN = "op: 'add', path: '/metadata/labelz', value: {'a': 'b'}"
MUTATION_DENIED = PREFIX.format("mutate")


class Case(NamedTuple):
    name: str
    documents: list[JSONObject]
    printed: str


def policies(reason: str, *validations: JSONObject) -> list[JSONObject]:
    """A Policy for each validation."""
    return [
        policy(name, PODS, validations=[{**each, "reason": reason}])
        for name, each in zip("abc", validations, strict=False)
    ]


def vaps(reason: str, *validations: JSONObject) -> list[JSONObject]:
    """A ValidatingAdmissionPolicy with its binding for each validation."""
    return [
        document
        for name, each in zip("abc", validations, strict=False)
        for document in (
            vap(name, PODS, validations=[{**each, "reason": reason}]),
            vap_binding(f"{name}-bound", policyName=name),
        )
    ]


FORBIDDEN = f'Error from server (Forbidden): error when creating "STDIN": {DENIED}'
INVALID = 'The pods "web" is invalid: '
BOUND = "ValidatingAdmissionPolicy '{0}' with binding '{0}-bound' denied request:"
A, B, C = (BOUND.format(name) for name in "abc")
ON_ONE_LINE = ERROR.replace("\n ", "")
CASES = [
    Case(
        "Policy: one Forbidden",
        policies("Forbidden", TAG),
        f"""{FORBIDDEN}policy 'a' denied request: no latest (spec.containers[0].image: {PLACE})
""",
    ),
    Case(
        "Policy: three Forbidden",
        policies("Forbidden", HOST, LINES, USER),
        f"""{FORBIDDEN}policy 'a' denied request: no host network
policy 'b' denied request: {ON_ONE_LINE}
policy 'c' denied request: only ann may
""",
    ),
    Case(
        "Policy: one Invalid, a pattern",
        policies("Invalid", TAG),
        f"""{INVALID}spec.containers[0].image: policy 'a' denied request: no latest ({PLACE})
""",
    ),
    Case(
        "Policy: one Invalid about no field",
        policies("Invalid", USER),
        f"""{INVALID}: policy 'a' denied request: only ann may
""",
    ),
    Case(
        "Policy: three Invalid",
        policies("Invalid", TAG, LINES, USER),
        f"""{INVALID}
* spec.containers[0].image: policy 'a' denied request: no latest ({PLACE})
* metadata.annotations.a: policy 'b' denied request: {ERROR}
* : policy 'c' denied request: only ann may
""",
    ),
    Case(
        "ValidatingAdmissionPolicy: one Forbidden",
        vaps("Forbidden", HOST),
        f"""{FORBIDDEN}{A} no host network
""",
    ),
    Case(
        "ValidatingAdmissionPolicy: three Forbidden",
        vaps("Forbidden", HOST, LINES, USER),
        f"""{FORBIDDEN}{A} no host network
{B} {ON_ONE_LINE}
{C} only ann may
""",
    ),
    Case(
        "ValidatingAdmissionPolicy: one Invalid, of two lines",
        vaps("Invalid", LINES),
        f"""{INVALID}: {A} {ERROR}
""",
    ),
    Case(
        "ValidatingAdmissionPolicy: three Invalid",
        vaps("Invalid", LINES, HOST, USER),
        f"""{INVALID}
* : {A} {ERROR}
* : {B} no host network
* : {C} only ann may
""",
    ),
    Case(
        "a mutation that fails the request",
        [policy("m", PODS, mutations=[json_patch(f"[JSONPatch{{{BROKEN}}}]")])],
        f"""Error from server (InternalError): error when creating "STDIN": {MUTATION_DENIED}\
Internal error occurred: strict decoding error: unknown field "metadata.labelz" \
(mutation of policy 'm')
""",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_user_sees(case: Case, install: Install, kubectl: Kubectl, namespace: str) -> None:
    install(*case.documents)
    denied = pod(container(image="web:latest"), namespace=namespace, hostNetwork=True)
    assert kubectl.printed("create", "-f", "-", sent=denied) == (1, "", case.printed)
