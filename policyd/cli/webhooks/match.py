"""``policyd webhooks match``: which webhooks the API server calls for a request. Calls none."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import click

from policyd._core.match.equivalents import Equivalents
from policyd.admission.lookups.authorizer import Authorizer
from policyd.admission.review import decode
from policyd.cli.shared.authorizer import AUTHORIZER
from policyd.cli.shared.manifests import (
    definitions_of,
    is_namespace,
    place_of,
    read_manifests,
)
from policyd.cli.shared.output import echo_json, fields_json, format_option, styled, warn
from policyd.cli.shared.request import RequestOptions, name_of, read_source, webhook_request_options
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cli.shared.version import version_option
from policyd.cli.webhooks.options import configurations_among, files_option
from policyd.defaulting.defaults import Defaults
from policyd.json_types import JSONObject
from policyd.mutation.schemas.schemas import Schemas
from policyd.policy.compile.params import Namespaces
from policyd.policy.kinds.mapping import BUILT_IN
from policyd.policy.source.loaded_documents import Document
from policyd.versions import KubernetesVersion
from policyd.webhooks.calls import Calls, Hook, HookCall, NotCalled, called, hooks_of
from policyd.webhooks.validation import problems

_EPILOG = """\b
Examples:
  policyd webhooks match -f webhooks.yaml pod.yaml
  policyd webhooks match -f webhooks.yaml -f namespaces.yaml review.json
  policyd webhooks match -f webhooks.yaml --operation DELETE pod.yaml
  policyd webhooks match -f webhooks.yaml --namespace-labels env=prod \\
      --user alice pod.yaml
  kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations \\
      -o yaml | policyd webhooks match -f - pod.yaml
  policyd webhooks match -f webhooks.yaml pod.yaml --format json | \\
      jq '.validating[].webhook'

\b
How to read the output:
  mutating, one after the other:     in the order of the calls
    1. gatekeeper / a.example.com    configuration / webhook
  called again if a later one changes the object:
    1. gatekeeper / a.example.com    its reinvocationPolicy is IfNeeded
  validating, at the same time:      after the mutating ones
  not called:                        with the reason
  not known:                         what has to be given first

Exit status: 0 if the webhooks were determined (even if the API server rejects the request at one),
2 if the input is invalid.
"""


@click.command("match", epilog=_EPILOG)
@files_option("webhook configurations, Namespaces and CustomResourceDefinitions")
@webhook_request_options
@AUTHORIZER
@format_option("text", "json")
@click.argument("file", default="-", type=click.File("rb"), metavar="[FILE]")
@version_option()
def command(
    *,
    files: tuple[Path, ...],
    request: RequestOptions,
    authorizer: Authorizer | None,
    form: str,
    file: BinaryIO,
    version: KubernetesVersion,
) -> None:
    """Show which webhooks the API server calls for a request.

    The configurations may belong to any product, as files or as kubectl get -o yaml prints them.
    FILE is JSON or YAML; - is standard input. It contains an AdmissionReview, or manifests. A
    CREATE request is built from each manifest (see --operation, --old, --user, --group and
    --namespace); the items of a List are matched one by one. Labels of namespaces come from
    --namespace-labels, or from Namespace objects in FILE or in the files of -f.

    For each webhook that is not called, the reason is shown; if no rule matches, the reason of
    every rule, the nearest rule first. Responses of webhooks are not known:
    each webhook is matched with the object as it is given. A matchCondition that checks permissions
    is known with --authorizer only.
    """
    if name_of(file) == "-" and Path("-") in files:
        raise click.UsageError("-f - and FILE cannot both be standard input")
    documents = read_manifests(files, skips=True).required().documents
    hooks = hooks_of(_configurations(documents, files, version))
    definitions = definitions_of(documents)
    given, namespaces, more, _ = request.read(
        read_source(file), BUILT_IN.with_definitions(definitions)
    )
    namespaces = [*(each.raw for each in documents if is_namespace(each)), *namespaces]
    definitions += more
    equivalents = Equivalents.of_crds(definitions)
    defaults = Defaults(Schemas.builtin(version).with_crds(definitions))
    for number, each in enumerate(given):
        review = each.review
        if request.defaults and each.is_built:
            review = defaults.review(review)
        sent = decode(review).raw
        named = request.namespace(each, Namespaces(namespaces), several=len(given) > 1)
        known = [*namespaces, *([named] if named else [])]
        calls = called(
            hooks,
            sent,
            namespaces=known,
            equivalents=equivalents,
            authorizer=authorizer,
            version=version,
        )
        if form == "json":
            place = each.place if len(given) > 1 else {}
            echo_json({**place, **calls_json(calls, sent)})
            continue
        heading = f"{place_of(each.document)}: " if each.document and len(given) > 1 else ""
        lines = list(calls_text(calls, sent))
        echo_wrapped("\n".join([*([""] if number else []), heading + lines[0], *lines[1:]]))


def _configurations(
    documents: Sequence[Document], files: Sequence[Path], version: KubernetesVersion
) -> list[JSONObject]:
    """Return the configurations of files, with a warning for each of their problems."""
    found = configurations_among(documents, files)
    for each in found:
        for problem in problems(each.raw, version=version):
            warn(f"the API server refuses {each.label}: {problem}", place_of(each))
    return [each.raw for each in found]


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
                notes = "; ".join((*_seen(call, request), *call.notes))
                seen = f" ({notes})" if notes else ""
                yield f"  {mark} {_named(call.hook)}: rules[{call.rule}] matches{seen}"
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
                kind = "mutating" if each.hook.mutates else "validating"
                yield f"  - {kind} {_named(each.hook)}: {each.reason}"
                yield from (f"      {other}" for other in each.others)


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
        "rejected": rejection
        and {**_hook_json(rejection.hook), "code": rejection.code, "message": rejection.message},
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


def _seen(call: HookCall, request: JSONObject) -> Iterator[str]:
    """Yield as what the webhook sees the request, if not as what the client sent."""
    wanted = request.get("requestResource") or request.get("resource") or {}
    group, version, name = call.resource
    if (wanted.get("group", ""), wanted.get("version", "")) != (group, version):
        yield f"as {name} of {group}/{version}" if group else f"as {name} of {version}"


def _named(hook: Hook) -> str:
    return f"{hook.configuration} / {hook.name}"


def _hook_json(hook: Hook) -> JSONObject:
    named = {**fields_json(hook, "kind", "configuration"), "webhook": hook.name}
    return {**named, "index": hook.index}


def _call_json(call: HookCall) -> JSONObject:
    return {
        **_hook_json(call.hook),
        "rule": call.rule,
        "resource": dict(zip(("group", "version", "resource"), call.resource, strict=True)),
        "kindSeen": dict(zip(("group", "version", "kind"), call.kind, strict=True)),
        "notes": call.notes,
    }


def _other_json(other: NotCalled) -> JSONObject:
    reason = {**fields_json(other, "part", "reason"), "otherRules": other.others}
    return {**_hook_json(other.hook), **reason}
