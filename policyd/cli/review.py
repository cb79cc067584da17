"""``policyd review``: reads an AdmissionReview and prints its answer. Starts no server."""

from pathlib import Path
from typing import BinaryIO

import click
import orjson

from policyd.admission.engine import Webhook
from policyd.admission.lookups.authorizer import Authorizer
from policyd.api.policy_set import PolicySet
from policyd.cli.shared.authorizer import AUTHORIZER
from policyd.cli.shared.output import answer_lines
from policyd.cli.shared.policy_options import (
    echo_failed_operations,
    echo_unbound,
    enforce_all_option,
    loaded,
    policies_option,
)
from policyd.cli.shared.request import (
    FOR_MANIFESTS,
    GivenReview,
    RequestOptions,
    echo_unfit,
    holds_manifests,
    read_object,
    read_source,
    request_options,
)
from policyd.cli.shared.settings import option
from policyd.cli.shared.version import version_option
from policyd.errors import ReviewError
from policyd.json_types import JSON, JSONObject
from policyd.versions import KubernetesVersion

_EPILOG = """\b
Examples:
  policyd review -p policies/ review.json
  policyd review -p policies/ pod.yaml
  kubectl get pod web -o json | policyd review -p policies/ -
  policyd review -p policies/ --webhook mutate --jsonl < reviews.jsonl
  policyd review -p policies/ --authorizer rules.yaml review.json
  policyd review -p policies/ --namespace-labels env=prod pod.yaml
  policyd review -p policies/ deploy/all.yaml --select Deployment/web

Exit status: 0 if the review was answered (a denial is an answer), 2 if the input or a policy is
invalid.
"""


@click.command("review", epilog=_EPILOG)
@policies_option()
@option(
    "--webhook",
    "Choose the webhook that answers.",
    type=click.Choice(["validate", "mutate"]),
    default="validate",
)
@option("--jsonl", "Read one review per line, print one answer per line.")
@option(
    "--object",
    "Expect a manifest in FILE, as options that describe its request (--user, --old) do.",
    to="as_object",
)
@request_options
@AUTHORIZER
@enforce_all_option()
@click.argument("file", default="-", type=click.File("rb"))
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    webhook: Webhook,
    jsonl: bool,
    as_object: bool,
    request: RequestOptions,
    authorizer: Authorizer | None,
    enforce_all: bool,
    file: BinaryIO,
    version: KubernetesVersion,
) -> None:
    """Answer the AdmissionReview in FILE as the server would.

    FILE is JSON or YAML; - is standard input. If it contains a manifest, a CREATE request is built
    from it (see --operation, --old, --user, --group and --namespace); policyd apply checks many.

    The answer is one line of JSON: an AdmissionReview whose response has allowed, status, warnings,
    auditAnnotations and, with --webhook mutate, the base64-encoded JSON patch.
    """
    as_object = as_object or request.for_manifests
    if as_object and jsonl:
        raise click.UsageError(
            f"--object, {FOR_MANIFESTS} apply to manifests, and --jsonl reads reviews"
        )
    sources, policies = loaded(paths, version)
    echo_unbound(sources)
    if enforce_all:
        policies = policies.enforced
    policies = policies.reading(request.others())
    if jsonl:

        def answered(line: bytes) -> JSON:
            try:
                given = GivenReview(_decoded(line, request), None)
                namespace = request.namespace(given, policies.namespaces, several=True)
                chosen = policies if namespace is None else policies.with_namespaces([namespace])
                return PolicySet(chosen).review(line, webhook, authorizer=authorizer)
            except ReviewError as error:
                return {"error": str(error)}

        answer_lines(file, answered)
        return
    source = read_source(file)
    if as_object or holds_manifests(source):
        (given,), namespaces, definitions, objects = request.read_one(source, policies.mapper)
        policies = policies.with_definitions(definitions).reading(objects)
        echo_unfit([given], policies.schemas)
        policies = policies.with_namespaces(namespaces)
        body: bytes | JSONObject = given.review
        if request.defaults and given.is_built:
            body = policies.defaults.review(given.review)
    else:
        body = source.data
        if body.lstrip()[:1] != b"{":
            body = read_object(body, source.name)
        given = GivenReview(body if isinstance(body, dict) else _decoded(body, request), None)
    namespace = request.namespace(given, policies.namespaces)
    known = policies if namespace is None else policies.with_namespaces([namespace])
    try:
        answer = PolicySet(known).review(body, webhook, authorizer=authorizer)
    except ReviewError as error:
        raise ReviewError(f"{source.name}: {error}\n  hint: {_REVIEW_HINT}") from None
    request.namespaces.echo_unknown(policies, [body])
    click.echo(orjson.dumps(answer))
    if message := (answer["response"].get("status") or {}).get("message", ""):
        names = [each.name for each in policies.policies if f"'{each.name}'" in message]
        review = body if isinstance(body, dict) else read_object(body, source.name)
        kind = review["request"].get("kind") or {}
        echo_failed_operations(sources, [(names, message, kind)])


_REVIEW_HINT = (
    "give an AdmissionReview as the API server sends it, with apiVersion, kind and request; or a "
    "manifest"
)


def _decoded(body: bytes, request: RequestOptions) -> JSONObject:
    """Return the review in a JSON text if its namespace is needed: the bytes are answered, so that
    they are checked as the server does. Raises ReviewError.
    """
    return {} if request.namespaces.labels is None else read_object(body, "the review")
