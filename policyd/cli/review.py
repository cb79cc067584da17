"""``policyd review``: one AdmissionReview in, the AdmissionReview that answers it out. Starts no
server.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import click
import orjson

from policyd.admission.api import PolicySet
from policyd.admission.authorizer import Authorizer
from policyd.admission.engine import Webhook
from policyd.cli._authorizer import authorizer_option
from policyd.errors import PolicySchemaError, ReviewError
from policyd.policy.compiled import JSON, Object
from policyd.policy.loader import read_one
from policyd.policy.reviews import build_review

_EPILOG = """\b
Examples:
  policyd review -p policies/ review.json
  kubectl get pod web -o json | policyd review -p policies/ --object - --operation CREATE
  policyd review -p policies/ --webhook mutate --jsonl < reviews.jsonl
  policyd review -p policies/ --authorizer rules.yaml review.json

Exit status: 0 when answered (also for a denial), 2 for bad input or a broken policy.
"""
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


@click.command("review", epilog=_EPILOG)
@click.option(
    "-p",
    "--policies",
    "paths",
    multiple=True,
    required=True,
    type=click.Path(exists=True, path_type=Path),
    help="A policy file or directory; may be given more than once.",
)
@click.option(
    "--webhook",
    type=click.Choice(["validate", "mutate"]),
    default="validate",
    show_default=True,
    help="Which of the two webhooks answers.",
)
@click.option("--jsonl", is_flag=True, help="One review a line in, one answer a line out.")
@click.option(
    "--object", "as_object", is_flag=True, help="FILE holds a Kubernetes object: build the review."
)
@click.option(
    "--operation",
    type=click.Choice(_OPERATIONS),
    default="CREATE",
    show_default=True,
    help="The operation of a review built with --object.",
)
@click.option("--user", default="policyd-review", help="The user name of a review built so.")
@click.option("--group", "groups", multiple=True, help="A group of that user; may be repeated.")
@authorizer_option
@click.argument("file", default="-", type=click.File("rb"))
def command(
    *,
    paths: tuple[Path, ...],
    webhook: Webhook,
    jsonl: bool,
    as_object: bool,
    operation: str,
    user: str,
    groups: tuple[str, ...],
    authorizer: Authorizer | None,
    file: BinaryIO,
) -> None:
    """Answer the AdmissionReview in FILE (JSON or YAML; - is standard input) as the server would.

    The answer is one line of JSON: an AdmissionReview whose response says allowed or not, with the
    status, warnings, audit annotations and, for --webhook mutate, the base64 JSON patch.
    """
    policies = PolicySet.load(paths)
    if jsonl:
        _answer_lines(policies, webhook, authorizer, file)
        return
    body = file.read()
    if as_object:
        user_info = {"username": user, "groups": list(groups)}
        overrides = {"userInfo": user_info}
        review: bytes | Object = build_review(_read(body), operation=operation, overrides=overrides)
    else:
        review = body if body.lstrip()[:1] == b"{" else _read(body)
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


def _read(body: bytes) -> Object:
    try:
        document = read_one(body)
    except PolicySchemaError as error:
        raise ReviewError(f"neither JSON nor YAML: {error}") from None
    if not isinstance(document, dict):
        raise ReviewError(f"expected one object, found {json.dumps(document)[:40]}")
    return document
