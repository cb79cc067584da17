"""The policy library exported: cases of its suites, a sample of them, asked of a real API server that has the
exported documents, and of the same API server with policyd as its webhook. Both must answer alike:
decision, code, reason, message, warnings, audit annotations, and the object with all its mutations.
"""

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.e2e.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.differential.asking import marked
from tests.e2e.differential.comparing import Seen, difference
from tests.e2e.differential.library import (
    Case,
    against_the_suite,
    asking,
    beside,
    by_a_policy,
    can_exist,
    cases,
    is_complete,
    namespaces,
)
from tests.e2e.differential.sides import both_sides
from tests.e2e.export.exporting import Exports, accepted, export
from tests.e2e.export.wording import plainly
from tests.e2e.rights import bound, role
from tests.sampling import sampled

WHOLE = list(cases())
POLICIES = {each.policy["metadata"]["name"]: each.policy for each in WHOLE}
CASES = {each.name: each for each in sampled(WHOLE)}
# Policies that the API server of a version cannot enforce, and a part of the reason.
NOT_EXPORTED = {
    "1.36": {"default-resources": "the API server has set the defaults of what that wrote"},
}

# Messages that list what a map of params has: the API server walks the keys in any order.
UNORDERED = {
    name
    for name, policy in POLICIES.items()
    if any(isinstance(each, dict) for each in policy["spec"].get("params", {}).values())
}

INVALID = "the API server refuses the object itself"
NEVER_THERE = "the API server does not let the old object exist"
COMPLETED = "the suite says nothing about the object as the API server needs it"
NAMED = "the API server makes a name before it validates"


@pytest.fixture(name="exports", scope="module")
def _exports(api: Cluster) -> Exports:
    """Every policy of the library, held to the requests that are marked for it."""
    return export([marked(each) for each in POLICIES.values()], api.version)


@pytest.fixture(name="world", scope="module")
def _world(client: Client, watching: None) -> Iterator[None]:
    """The users, namespaces and params of the suites."""
    every = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    rights = role("exported", every, {"nonResourceURLs": ["*"], "verbs": ["*"]})
    users = sorted({each.review["userInfo"]["username"] for each in CASES.values()})
    binding = bound(rights, "User", users[0])
    binding["subjects"] = [{**binding["subjects"][0], "name": each} for each in users]
    made = [rights, binding]
    for each in made:
        client.made(each)
    for each in (*namespaces(CASES.values()), *beside("params.yaml")):
        client.create(each)  # they may be there from other tests
    yield
    for each in made:
        client.deleted(each)


@pytest.fixture(name="answers", scope="module")
def _answers(
    api: Cluster,
    client: Client,
    world: None,
    exports: Exports,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, tuple[Seen, Seen]]:
    """The answers of the API server and of policyd to each case that can be asked."""
    asked = [each for each in map(asking, CASES.values()) if can_exist(client, each)]
    hook = [marked(each) for each in POLICIES.values()]
    folder = tmp_path_factory.mktemp("exported") / "served"
    return both_sides(
        api, client, asked, folder, tree=exports.documents, hook=hook, named=exports.named
    )


def test_only_these_policies_are_not_exported(api: Cluster, exports: Exports) -> None:
    reasons, known = exports.reasons, NOT_EXPORTED.get(api.version, {})
    for name, each in sorted(reasons.items()):
        print(f"not exported: {name}: {'; '.join(each)}")
    assert reasons.keys() == known.keys()
    wrong = {
        name: reasons[name]
        for name, text in known.items()
        if not any(text in each for each in reasons[name])
    }
    assert wrong == {}


def test_the_api_server_accepts_every_document(client: Client, exports: Exports) -> None:
    assert accepted(client, exports.documents) == {}


def test_exported_policies_answer_as_their_sources(
    exports: Exports, answers: dict[str, tuple[Seen, Seen]]
) -> None:
    wrong, left_out, alike = {}, Counter[str](), 0
    for name, case in CASES.items():
        if why := incomparable(case, exports, answers):
            left_out[why] += 1
            continue
        unordered = case.policy["metadata"]["name"] in UNORDERED
        tree, hook = (
            plainly(each, exports, generated=generated(case), unordered=unordered)
            for each in answers[name]
        )
        if text := difference(tree, hook):
            wrong[name] = text
        else:
            alike += 1
    total = f"{len(CASES)} cases of {len(POLICIES)} policies"
    print(f"{total}: {alike} alike, {len(wrong)} not, not compared: {dict(left_out)}")
    for name, text in wrong.items():
        print(f"{name}: {text}")
    assert wrong.keys() == set()


def incomparable(case: Case, exports: Exports, answers: dict[str, tuple[Seen, Seen]]) -> str:
    """Why the answers to a case are not compared; "" if they are."""
    if case.name not in answers:
        return NEVER_THERE
    if case.policy["metadata"]["name"] in exports.reasons:
        return "the policy is not exported"
    return "" if by_a_policy(answers[case.name][1]) else INVALID


def generated(case: Case) -> str:
    """The beginning of the name that the API server makes for the object; "" if it has one."""
    metadata = (case.review["object"] or {}).get("metadata") or {}
    return str(metadata.get("generateName", ""))


def test_policyd_answers_as_the_suites_say(answers: dict[str, tuple[Seen, Seen]]) -> None:
    wrong, left_out, right = {}, Counter[str](), 0
    for name, case in CASES.items():
        why = untold(case, answers)
        if why:
            left_out[why] += 1
        elif text := against_the_suite(case, answers[name][1]):
            wrong[name] = text
        else:
            right += 1
    print(f"{len(CASES)} cases: {right} as the suites say, not compared: {dict(left_out)}")
    assert wrong == {}


def untold(case: Case, answers: dict[str, tuple[Seen, Seen]]) -> str:
    """Why the answer to a case is not compared with its suite; "" if it is."""
    if case.name not in answers:
        return NEVER_THERE
    if not is_complete(case):
        return COMPLETED
    if generated(case):
        return NAMED
    return "" if by_a_policy(answers[case.name][1]) else INVALID
