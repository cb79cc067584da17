"""How ``policyd webhooks match`` prints the webhooks of a request. Decides nothing."""

from collections.abc import Iterator

from policyd.cli.shared.output import styled
from policyd.json_types import JSONObject
from policyd.webhooks.calls import Calls, Hook, HookCall, NotCalled


def calls_text(calls: Calls, request: JSONObject) -> Iterator[str]:
    """Yield the lines: the request, the calls in their order, the other webhooks."""
    yield styled(_request_text(request), bold=True)
    shown = False
    for title, listed in (
        ("mutating, one after the other", calls.mutating),
        ("called again if a later one changes the object", calls.again),
        ("validating, at the same time", calls.validating),
    ):
        if listed:
            shown = True
            yield f"{title}:"
            for number, call in enumerate(listed, 1):
                mark = f"{number}." if call.hook.mutates else "-"
                yield f"  {mark} {_call_text(call, request)}"
    if not shown:
        yield "no webhook is called"
    if calls.rejection is not None:
        rejection = calls.rejection
        yield (
            f"{styled('rejected', fg='red')} at {_named(rejection.hook)}, before it is called: "
            f"{rejection.code} {rejection.message}"
        )
    for title, undecided in (("not known", True), ("not called", False)):
        others = [each for each in calls.others if each.undecided == undecided]
        if others:
            yield f"{title}:"
            for each in others:
                yield f"  - {_kind(each.hook)} {_named(each.hook)}: {each.reason}"


def calls_json(calls: Calls, request: JSONObject) -> JSONObject:
    """Return the same as JSON."""
    rejection = calls.rejection
    return {
        "request": {
            "operation": request.get("operation"),
            "resource": request.get("requestResource") or request.get("resource"),
            "subResource": request.get("subResource") or "",
            "namespace": request.get("namespace") or "",
            "name": request.get("name") or "",
        },
        "mutating": [_call_json(each) for each in calls.mutating],
        "again": [_hook_json(each.hook) for each in calls.again],
        "validating": [_call_json(each) for each in calls.validating],
        "notCalled": [_other_json(each) for each in calls.others if not each.undecided],
        "notKnown": [_other_json(each) for each in calls.others if each.undecided],
        "rejected": None
        if rejection is None
        else {
            **_hook_json(rejection.hook),
            "code": rejection.code,
            "message": rejection.message,
        },
    }


def _request_text(request: JSONObject) -> str:
    resource = request.get("requestResource") or request.get("resource") or {}
    name = str(resource.get("resource", ""))
    if request.get("subResource"):
        name = f"{name}/{request['subResource']}"
    group, version = resource.get("group", ""), resource.get("version", "")
    where = "/".join(filter(None, (request.get("namespace"), request.get("name"))))
    served = f"{group}/{version}" if group else version
    return f"{request.get('operation', '')} {name} {where} ({served})".replace("  ", " ")


def _call_text(call: HookCall, request: JSONObject) -> str:
    notes = [*_seen(call, request), *call.notes]
    shown = f" ({'; '.join(notes)})" if notes else ""
    return f"{_named(call.hook)}: rules[{call.rule}] matches{shown}"


def _seen(call: HookCall, request: JSONObject) -> Iterator[str]:
    """Yield as what the webhook sees the request, if not as what the client sent."""
    wanted = request.get("requestResource") or request.get("resource") or {}
    group, version, name = call.resource
    if (wanted.get("group", ""), wanted.get("version", "")) != (group, version):
        yield f"as {name} of {group}/{version}" if group else f"as {name} of {version}"


def _kind(hook: Hook) -> str:
    return "mutating" if hook.mutates else "validating"


def _named(hook: Hook) -> str:
    return f"{hook.configuration} / {hook.name}"


def _hook_json(hook: Hook) -> JSONObject:
    return {
        "kind": hook.kind,
        "configuration": hook.configuration,
        "webhook": hook.name,
        "index": hook.index,
    }


def _call_json(call: HookCall) -> JSONObject:
    return {
        **_hook_json(call.hook),
        "rule": call.rule,
        "resource": dict(zip(("group", "version", "resource"), call.resource, strict=True)),
        "kindSeen": dict(zip(("group", "version", "kind"), call.kind, strict=True)),
        "notes": list(call.notes),
    }


def _other_json(other: NotCalled) -> JSONObject:
    return {**_hook_json(other.hook), "part": other.part, "reason": other.reason}
