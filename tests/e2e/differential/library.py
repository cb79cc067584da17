"""The cases of the library's suites as questions to a real API server. No tests here."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from policyd.json_types import JSONObject
from policyd.policy.model.suite_cases import SuiteCase
from policyd.policy.source import loader
from policyd.policy.suite import runner
from policyd.policy.suite.case_review import review_of
from tests.e2e.client import Client
from tests.e2e.differential.asking import Question, bare, marks, question
from tests.e2e.differential.comparing import Seen
from tests.e2e.differential.completing import completed
from tests.shared import ROOT

LIBRARY = ROOT / "policies"
OWN_DENIAL = re.compile(r"(?:ValidatingAdmissionP|p)olicy '([^']*)'( with binding '[^']*')? denied")


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a suite with the request that it describes."""

    name: str
    policy: JSONObject
    case: SuiteCase
    review: JSONObject


def cases() -> Iterator[Case]:
    """Every case of the library, but for policies that read other objects: the API server has none
    of these policies, and the objects of a case are not in its cluster (tests/e2e/test_reads.py).
    """
    for file in sorted(LIBRARY.rglob("suite.yaml")):
        (document,) = loader.load([file]).documents
        policy = yaml.safe_load((file.parent / "policy.yaml").read_text())
        if "reads" in policy["spec"]:
            continue
        for index, each in enumerate(runner.selected(document)):
            review = review_of(each, document)["request"]
            name = f"{policy['metadata']['name']}/{index}"
            yield Case(name, policy, each, review)


def beside(*names: str) -> Iterator[JSONObject]:
    """The objects in files of these names beside the policies: namespaces and params of suites."""
    files: list[Path] = [file for name in names for file in sorted(LIBRARY.rglob(name))]
    for file in files:
        yield from yaml.safe_load_all(file.read_text())


def namespaces(cases: Collection[Case]) -> list[JSONObject]:
    """Those beside the policies, those of cases with the labels that they ask for first, and one that
    params are in.
    """
    known = {each["metadata"]["name"]: each for each in beside("namespaces.yaml")}
    named = {each["metadata"]["namespace"] for each in beside("params.yaml")}
    labelled = sorted(cases, key=lambda each: not each.case.request.namespace_labels)
    for name, labels in [
        *((each.review.get("namespace"), each.case.request.namespace_labels) for each in labelled),
        *((name, None) for name in named),
    ]:
        if name and name != "default":
            metadata = {"name": name, "labels": labels or {}}
            known.setdefault(name, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    return list(known.values())


def asking(case: Case) -> Question:
    """The request of a case, with what a real object needs; nothing is stored."""
    name = case.policy["metadata"]["name"]
    review = {**case.review, "dryRun": True}
    if review["operation"] != "CONNECT":
        review |= {key: complete(review[key]) for key in ("object", "oldObject")}
    asked = question(case.name, review, [name])
    if asked.before is None and review["oldObject"]:  # a namespace, which is there
        asked = replace(asked, before=bare(review["oldObject"]))
    return replace(asked, headers=(*asked.headers, *marks([name])))


def complete(thing: JSONObject | None) -> JSONObject | None:
    return None if thing is None else completed(thing)


def is_complete(case: Case) -> bool:
    """Whether the objects of a case are sent as the suite has them."""
    review = case.review
    return review["operation"] == "CONNECT" or all(
        review[key] == complete(review[key]) for key in ("object", "oldObject")
    )


def can_exist(client: Client, asked: Question) -> bool:
    if asked.before is None or asked.before["kind"] == "Namespace":
        return True
    return client.send("POST", asked.collection, asked.before, dryRun="All").status == 201


def by_a_policy(seen: Seen) -> bool:
    """Whether a request was admitted, or denied by a policy; not refused by the API server itself."""
    connected = seen.get("message", "").endswith("does not have a host assigned")
    return bool(seen["code"] < 300 or connected or OWN_DENIAL.match(seen["message"]))


def against_the_suite(case: Case, hook: Seen) -> str:
    """In what an answer is not what the case expects. Objects are not compared: the API server has
    filled in its defaults.
    """
    expect = case.case.expect
    assert expect is not None
    denied = bool(OWN_DENIAL.match(hook.get("message", "")))
    if denied == expect.allowed:
        return f"{case.case.name}: {hook['code']} {hook.get('message')}"
    if denied and expect.code not in (None, hook["code"]):
        return f"{case.case.name}: code {hook['code']}"
    texts = [text for text in expect.message or () if denied and text not in hook["message"]]
    return f"{case.case.name}: no {texts} in {hook['message']}" if texts else ""
