"""Extracts the findings about each policy from a response: denials and warnings of Kyverno and
Gatekeeper, whose messages name the policies. Compares nothing.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from policyd.errors import PolicyError
from policyd.importers.kyverno.matching.autogen import PREFIXES
from policyd.json_types import JSON, JSONObject
from policyd.policy.source.loader import read_one

Level = Literal["admits", "audits", "warns", "denies"]
# From the most lenient to the strictest.
LEVELS: tuple[Level, ...] = ("admits", "audits", "warns", "denies")
# Kyverno (pkg/webhooks/utils/block.go): then YAML, the messages by policy and rule.
_BLOCKED = "was blocked due to the following policies"
# Kyverno's CEL policies (pkg/webhooks/resource/vpol/handler.go): Policy NAME failed: MESSAGE; …
_POLICY, _STATES = "Policy ", (" failed: ", " error: ")
# A rule of Kyverno that cannot be applied (pkg/webhooks/resource/mutation/mutation.go).
_MUTATION, _RULES = "mutation policy ", " rules ["


class RuleName(NamedTuple):
    """A policy of the other product, and its rule; empty if a message names none."""

    policy: str = ""
    rule: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, self)) or "-"


class RuleFinding(NamedTuple):
    """A denial or a warning of one rule."""

    name: RuleName
    level: Level
    message: str


def findings_in(response: JSONObject) -> Iterator[RuleFinding]:
    """Yield the findings of a response. A denial in an unknown form has no name. A warning in an
    unknown form is no finding, because not only policies warn.
    """
    if not response["allowed"]:
        status = response.get("status")
        message = str(status.get("message") or "") if isinstance(status, dict) else ""
        found = [*_denials(message)] or [(RuleName(), message)]
        yield from (RuleFinding(name, "denies", text) for name, text in found)
    for each in response.get("warnings") or ():
        yield from (RuleFinding(name, "warns", text) for name, text in _warning(str(each)))


def _denials(message: str) -> Iterator[tuple[RuleName, str]]:
    if _BLOCKED in message:
        yield from _blocked(message.partition(_BLOCKED)[2])
    elif message.startswith(_POLICY):
        yield from _of_cel_policies(message)
    elif message.startswith(_MUTATION):
        policy, _, error = message.removeprefix(_MUTATION).partition(" error: ")
        rule, _, text = error.partition(_RULES)[2].removesuffix("]").partition(": ")
        if text:
            yield RuleName(policy, own_rule(rule)), text
    elif message.startswith("["):
        yield from _of_constraints(message)


def _warning(text: str) -> Iterator[tuple[RuleName, str]]:
    """Yield the parts of a warning: the same as in a denial, or ``policy NAME.RULE: MESSAGE``."""
    name, colon, message = text.removeprefix("policy ").partition(": ")
    policy, dot, rule = name.rpartition(".")
    if text.startswith("policy ") and colon and dot:
        yield RuleName(policy, own_rule(rule)), message
    else:
        yield from _denials(text)


def _blocked(text: str) -> Iterator[tuple[RuleName, str]]:
    try:
        policies: JSON = read_one(text.encode(), "message")
    except PolicyError:
        return
    for policy, rules in policies.items() if isinstance(policies, dict) else ():
        for rule, message in rules.items() if isinstance(rules, dict) else ():
            yield RuleName(policy, own_rule(rule)), str(message)


def _of_cel_policies(message: str) -> Iterator[tuple[RuleName, str]]:
    for part in message.removeprefix(_POLICY).split(f"; {_POLICY}"):
        for state in _STATES:
            name, found, text = part.partition(state)
            if found and " " not in name:
                yield RuleName(name), text
                break


def _of_constraints(message: str) -> Iterator[tuple[RuleName, str]]:
    """Yield the lines of Gatekeeper (pkg/webhook/policy.go), ``[NAME] MESSAGE``."""
    for part in message.removeprefix("[").split("\n["):
        name, found, text = part.partition("] ")
        if found:
            yield RuleName(name), text


def own_rule(rule: str) -> str:
    """Return the user's rule for a rule that Kyverno derives for Pod controllers."""
    prefix = next((each for each in PREFIXES if rule.startswith(each)), "")
    return rule.removeprefix(prefix)
