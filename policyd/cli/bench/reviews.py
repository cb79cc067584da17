"""Read the reviews of a benchmark: captures, manifests, or the built-in ones. Measures nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from policyd.benchmark.corpus import corpus
from policyd.benchmark.webhook_requests import Review
from policyd.cli.shared.manifests import (
    Requester,
    definitions_of,
    echo_assumptions,
    is_namespace,
    read_manifests,
)
from policyd.cli.shared.output import echo_skipped
from policyd.errors import ConfigError, ReviewError
from policyd.json_types import JSONObject
from policyd.offline.admitting import BOTH
from policyd.offline.replaying import read_line
from policyd.policy.kinds.mapping import ResourceMapper
from policyd.policy.source.files import captures_in, is_capture, is_source, read_bytes

REVIEWS_HINT = (
    "give files of policyd serve --capture (.jsonl, .jsonl.gz) or manifests (.yaml, .json), or "
    "nothing for the built-in reviews"
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
    captures, others = [], []
    for path in paths:
        if path.is_dir():
            found = captures_in(path)
            captures += found
            others += [path] if not found or _has_manifests(path) else []
        elif str(path) == "-" or is_capture(path.name):
            captures.append(path)
        else:
            others.append(path)
    recorded = [each for file in captures for each in _recorded(file, pipe=file in paths)]
    manifests = read_manifests(others).required()
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
        raise ConfigError(f"no reviews in {', '.join(map(str, paths))}\n  hint: {REVIEWS_HINT}")
    return ReviewsToMeasure(
        (*recorded, *built),
        tuple(each.raw for each in manifests.documents if is_namespace(each)),
        tuple(definitions),
    )


def _has_manifests(folder: Path) -> bool:
    return any(is_source(each.name) for each in folder.rglob("*"))


def _recorded(file: Path, *, pipe: bool) -> Iterator[Review]:
    try:
        data = read_bytes(file, pipes=pipe)
    except (OSError, EOFError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{file}: {reason}") from None
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        place = f"{file}:{number}"
        try:
            recorded = read_line(line)
        except ReviewError as error:
            raise ReviewError(f"{place}: {error}\n  hint: {REVIEWS_HINT}") from None
        yield Review(place, recorded.review, recorded.webhooks)
