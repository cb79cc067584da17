"""Read the reviews of a benchmark: captures, manifests, or the built-in ones. Measures nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from policyd.benchmark.corpus import corpus
from policyd.benchmark.webhook_requests import Review
from policyd.cli.shared.manifests import (
    Requester,
    definitions_of,
    echo_assumptions,
    is_namespace,
    read_manifests,
)
from policyd.cli.shared.output import echo_skipped, within
from policyd.cli.shared.settings import EXISTING_OR_STDIN, AddOption
from policyd.errors import ConfigError, ReviewError
from policyd.json_types import JSONObject
from policyd.offline.admitting import BOTH
from policyd.offline.captures import capture_lines
from policyd.offline.replaying import read_line
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.source.files import captures_in, is_capture, is_source

REVIEWS_HINT = (
    "give files of policyd serve --capture (.jsonl, .jsonl.gz) or manifests (.yaml, .json), or "
    "nothing for the built-in reviews"
)
REVIEWS: AddOption = click.argument(
    "reviews", nargs=-1, metavar="[PATHS]...", type=EXISTING_OR_STDIN
)


@dataclass(frozen=True, slots=True)
class ReviewsToMeasure:
    """The reviews, and the Namespaces and CustomResourceDefinitions among the manifests."""

    reviews: tuple[Review, ...]
    namespaces: tuple[JSONObject, ...] = ()
    definitions: tuple[JSONObject, ...] = ()


def read_reviews(paths: Sequence[Path], mapper: ResourceMapper) -> ReviewsToMeasure:
    """Read files and directories: recorded reviews in .jsonl files, and manifests in others. -
    is standard input, with one review per line. Without paths: the built-in reviews. ``mapper``
    knows the kinds of the policies.

    Raises ConfigError, ReviewError and PolicySchemaError.
    """
    if not paths:
        return ReviewsToMeasure(tuple(corpus()))
    recorded = list(_recorded(filter(_has_captures, paths)))
    manifests = read_manifests(list(filter(_has_manifests, paths))).required()
    echo_skipped(manifests.skipped)
    requester = Requester()
    definitions = definitions_of(manifests.documents)
    mapper = mapper.with_definitions(definitions)
    manifests_only = [each for each in manifests.documents if each.kind != "AdmissionReview"]
    echo_assumptions(manifests_only, requester, mapper)
    built = []
    for each in manifests.documents:
        place = f"{each.file}:{each.place()[0]}"
        if each.kind == "AdmissionReview":
            built.append(Review(place, each.raw, BOTH))
        else:
            built.append(Review(place, requester.review(each, None, mapper), BOTH, built=True))
    if not recorded and not built:
        raise ConfigError(f"no reviews {within(paths)}\n  hint: {REVIEWS_HINT}")
    return ReviewsToMeasure(
        (*recorded, *built),
        tuple(each.raw for each in manifests.documents if is_namespace(each)),
        tuple(definitions),
    )


def _has_captures(path: Path) -> bool:
    if path.is_dir():
        return bool(captures_in(path))
    return str(path) == "-" or is_capture(path.name)


def _has_manifests(path: Path) -> bool:
    if not _has_captures(path):
        return True
    return path.is_dir() and any(is_source(each.name) for each in path.rglob("*"))


def _recorded(paths: Iterator[Path]) -> Iterator[Review]:
    for place, line in capture_lines(paths):
        try:
            recorded = read_line(line)
        except ReviewError as error:
            raise ReviewError(f"{place}: {error}\n  hint: {REVIEWS_HINT}") from None
        yield Review(place, recorded.review, recorded.webhooks)
