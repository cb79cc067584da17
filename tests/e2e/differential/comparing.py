"""Two answers to the same request, in the words of the API server. No tests here."""

import copy
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.conformance.apiserver_rows import as_kubernetes, expected, unprefixed
from tests.e2e.client import Answer

# What a user sees of an answer, and what the audit log has of it.
Seen = dict[str, Any]

DENIED = re.compile(r'admission webhook "(?:validate|mutate)\.policyd\.dev" denied the request: ')
OF_WEBHOOKS = re.compile(r"(?:validate|mutate)\.policyd\.dev/(.*)", re.DOTALL)
OWN = re.compile(r"policy '[^']*' denied request: ")
# Which of several bindings allows a request, the API server says by chance.
GRANT = re.compile(r'by ClusterRoleBinding "[^"]*" of ClusterRole "[^"]*" to Group "[^"]*"')
# What precedes the type errors of an ApplyConfiguration.
TYPE_ERRORS = "denied request: type mismatch: "
FAILURE = "validation.policy.admission.k8s.io/validation_failure"


def in_words_of_kubernetes(
    answer: Answer, annotations: Mapping[str, str], policies: Mapping[str, str]
) -> Seen:
    """An answer without what tells who decided. ``policies`` are the names of those that may have
    decided, each with the name to show for it.
    """
    seen: Seen = {
        "code": answer.status,
        "warnings": list(answer.warnings),
        "annotations": asked_for(annotations, policies),
    }
    if answer.status < 300:
        return seen | {"object": comparable(answer.body)}
    status = copy.deepcopy(answer.body)
    if DENIED.match(status["message"]):
        status["message"] = DENIED.sub("", status["message"], count=1)
        message, cause = first_denial(status)
    else:
        message = unprefixed(status["message"])
        causes = status.get("details", {}).get("causes", [])
        cause = causes[0]["message"] if causes else None
    return seen | {"reason": status["reason"], "message": message, "cause": cause}


def first_denial(status: Seen) -> tuple[str, str | None]:
    """The message and the cause that the API server would have given alone; of a Policy, which it does
    not have, the message.
    """
    if OWN.match(status["message"]):
        return re.split(rf"\n(?={OWN.pattern})", status["message"])[0], None
    return as_kubernetes(status)


def asked_for(annotations: Mapping[str, str], policies: Mapping[str, str]) -> Seen:
    """The audit annotations of policies, under one name for both sides."""
    found: Seen = {}
    for key, value in annotations.items():
        webhook = OF_WEBHOOKS.fullmatch(key)
        if key == FAILURE or (webhook and webhook[1] == "validation_failure"):
            found["validation_failure"] = json.loads(value)
        elif webhook and webhook[1] != "generation":
            found[webhook[1]] = value
        elif key.partition("/")[0] in policies:
            policy, _, rest = key.partition("/")
            found[f"{policies[policy]}.{rest}"] = value
    return found


def comparable(thing: Any) -> Any:
    """An object without what no two creations have in common."""
    uid = thing.get("metadata", {}).get("uid")
    # A Job has its own uid in labels, too.
    thing = json.loads(json.dumps(thing).replace(uid, "UID")) if uid else copy.deepcopy(thing)
    metadata = thing.get("metadata", {})
    for key in ("uid", "creationTimestamp", "deletionTimestamp", "resourceVersion"):
        metadata.pop(key, None)
    for each in metadata.get("managedFields", ()):
        each.pop("time", None)
    if "managedFields" in metadata:  # sorted by time, in seconds
        metadata["managedFields"].sort(key=json.dumps)
    if "items" in thing:
        thing["items"] = [comparable(each) for each in thing["items"]]
    if "generateName" in metadata:
        metadata.pop("name", None)
    if thing.get("kind") == "Service":
        for key in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
            thing["spec"].pop(key, None)
        for port in thing["spec"].get("ports", ()):
            port.pop("nodePort", None)
    if thing.get("kind") == "TokenRequest":
        thing.pop("status")
    if thing.get("kind") == "Status":
        thing.get("details", {}).pop("uid", None)
    return thing


def difference(tree: Seen, hook: Seen) -> str:
    """In what the sides differ; "" if they answer alike."""
    return "; ".join(
        text
        for key in {**tree, **hook}
        if _unordered(tree.get(key)) != _unordered(hook.get(key))
        for text in _apart(tree.get(key), hook.get(key), key)
    )


def changed(row: Mapping[str, Any], tree: Seen) -> str:
    """In what the API server that runs answers a row otherwise than it was recorded; "" if it does
    not. Of an object, the fields that were recorded count.
    """
    recorded = row.get("expectAny") or [row["expect"]]
    return "" if any(_as_recorded(each, tree) for each in recorded) else f"{recorded} became {tree}"


def _as_recorded(each: Mapping[str, Any], tree: Seen) -> bool:
    want = expected(dict(each))
    if want["allowed"] or "object" in tree:
        return want["allowed"] == ("object" in tree) and _within(
            comparable(each.get("patchedObject") or {}), tree.get("object", {})
        )
    return all(want[key] == tree[key] for key in ("code", "reason", "message", "cause"))


def _within(part: Any, whole: Any) -> bool:
    """Whether all fields of an object are in another."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(_within(v, whole.get(k)) for k, v in part.items())
    if isinstance(part, list):
        return len(part) == len(whole or ()) and all(map(_within, part, whole))
    return bool(part == whole)


def _apart(tree: Any, hook: Any, at: str) -> Iterator[str]:
    """The fields in which two values differ."""
    if isinstance(tree, dict) and isinstance(hook, dict):
        for key in {**tree, **hook}:
            if tree.get(key) != hook.get(key):
                yield from _apart(tree.get(key), hook.get(key), f"{at}.{key}")
    elif isinstance(tree, list) and isinstance(hook, list) and len(tree) == len(hook):
        for index, (one, other) in enumerate(zip(tree, hook, strict=True)):
            if one != other:
                yield from _apart(one, other, f"{at}[{index}]")
    else:
        yield f"{at}: in-tree {tree!r}, webhook {hook!r}"


def _unordered(value: Any) -> Any:
    """A text without the order of type errors, one a line, which the API server leaves to chance."""
    if not isinstance(value, str) or TYPE_ERRORS not in value:
        return value
    begin, _, errors = value.partition(TYPE_ERRORS)
    return begin, sorted(errors.split("\n"))


def by_chance(outcomes: Iterable[Mapping[str, Any]], sent: Mapping[str, Any], seen: Seen) -> bool:
    """Whether an answer is one of those that a row has because the API server leaves an order to
    chance.
    """
    for each in outcomes:
        if not each["allowed"]:
            message = expected(dict(each))["message"]
            if GRANT.sub("", message) == GRANT.sub("", seen.get("message", "")):
                return True
        elif "object" in seen:
            want, got = each.get("patchedObject") or sent, seen["object"]
            if all(want.get(key) == got.get(key) for key in ("data", "spec")) and all(
                want["metadata"].get(key) == got["metadata"].get(key)
                for key in ("labels", "annotations")
            ):
                return True
    return False
