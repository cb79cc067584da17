"""``policyd review``: reads an AdmissionReview and prints its answer. Starts no server."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import click
import orjson

from policyd.admission.authorizer import Authorizer
from policyd.admission.engine import Webhook
from policyd.api.policy_set import PolicySet
from policyd.cli.shared.authorizer import authorizer_option
from policyd.cli.shared.manifests import Requester
from policyd.cli.shared.policies import policies_option, require_policies
from policyd.cli.shared.request import GROUP, OLD, OPERATION, USER, content, name_of, read_object
from policyd.cli.shared.version import version_option
from policyd.errors import ReviewError
from policyd.json_types import JSON, JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source.loader import load
from policyd.versions import KubernetesVersion

_EPILOG = """\b
Examples:
  policyd review -p policies/ review.json
  kubectl get pod web -o json | policyd review -p policies/ --object -
  policyd review -p policies/ --webhook mutate --jsonl < reviews.jsonl
  policyd review -p policies/ --authorizer rules.yaml review.json

Exit status: 0 if the review was answered (a denial is an answer), 2 if the input or a policy is
invalid.
"""


@click.command("review", epilog=_EPILOG)
@policies_option()
@click.option(
    "--webhook",
    type=click.Choice(["validate", "mutate"]),
    default="validate",
    show_default=True,
    help="Choose the webhook that answers.",
)
@click.option("--jsonl", is_flag=True, help="Read one review per line, print one answer per line.")
@click.option(
    "--object",
    "as_object",
    is_flag=True,
    help="Read a manifest from FILE and build the review from it.",
)
@OPERATION
@OLD
@USER
@GROUP
@authorizer_option
@click.argument("file", default="-", type=click.File("rb"))
@version_option()
def command(
    *,
    paths: tuple[Path, ...],
    webhook: Webhook,
    jsonl: bool,
    as_object: bool,
    operation: str | None,
    old: Path | None,
    user: str | None,
    groups: tuple[str, ...],
    authorizer: Authorizer | None,
    file: BinaryIO,
    version: KubernetesVersion,
) -> None:
    """Answer the AdmissionReview in FILE as the server would.

    FILE is JSON or YAML; - is standard input. The answer is one line of JSON: an AdmissionReview
    whose response has allowed, status, warnings, auditAnnotations and, with --webhook mutate, the
    base64-encoded JSON patch.
    """
    requester = Requester(operation, user, groups)
    if not as_object and (old or requester != Requester(None, None, ())):
        raise click.UsageError("--operation, --old, --user and --group require --object")
    if as_object and jsonl:
        raise click.UsageError("--object (one manifest) and --jsonl (reviews) cannot be combined")
    sources = require_policies(load(paths, version=version), paths)
    policies = PolicySet(compiler.compile_strict(sources))
    if jsonl:
        _answer_lines(policies, webhook, authorizer, file)
        return
    body = content(file)
    if as_object:
        before = None if old is None else read_object(content(old), str(old))
        review: bytes | JSONObject = requester.review(read_object(body, name_of(file)), before)
    else:
        review = body if body.lstrip()[:1] == b"{" else read_object(body, name_of(file))
    click.echo(orjson.dumps(policies.review(review, webhook, authorizer=authorizer)))


def _answer_lines(
    policies: PolicySet, webhook: Webhook, authorizer: Authorizer | None, lines: Iterable[bytes]
) -> None:
    for line in lines:
        if not line.strip():
            continue
        try:
            answer: JSON = policies.review(line, webhook, authorizer=authorizer)
        except ReviewError as error:
            answer = {"error": str(error)}
        sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
        sys.stdout.buffer.flush()
