"""What ``policyd compare`` prints. Compares nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import click

from policyd.cli.shared.output import counted, echo_json, one_line, styled
from policyd.cli.shared.terminal.wrapping import aligned, echo_wrapped
from policyd.comparison.comparing import DIFFERENT, OUTCOMES, ComparedRule
from policyd.comparison.sending import address_of
from policyd.json_types import JSONObject
from policyd.webhooks.calls import Hook

_COLOURS = {"stricter": "red", "looser": "red", "no answer": "red"}


class ComparedRequest(NamedTuple):
    """A recorded request, where it is, and the outcome of one rule."""

    place: str
    request: str
    rule: ComparedRule


class Totals(NamedTuple):
    """How many reviews were compared, and how many were left out."""

    compared: int
    redacted: int
    beyond_limit: int

    def text(self, state: str) -> str:
        """Return one line; ``state`` is the reviews' state, such as ``compared``."""
        parts = [f"{counted(self.compared, 'review')} {state}"]
        parts += [f"{self.redacted} redacted and skipped"] if self.redacted else []
        parts += [f"{self.beyond_limit} left out by --limit"] if self.beyond_limit else []
        return ", ".join(parts)

    def as_json(self) -> JSONObject:
        """Return the same as JSON."""
        names = ("compared", "redacted", "beyondLimit")
        return dict(zip(names, self, strict=True))


def echo_plan(hooks: Sequence[Hook], totals: Totals, form: str) -> None:
    """Print where requests would be sent. ``hooks``: one for each request."""
    counts = Counter((each.configuration, each.name, address_of(each)) for each in hooks)
    if form == "json":
        names = ("configuration", "webhook", "address")
        rows = [dict(zip(names, key, strict=True), requests=counts[key]) for key in sorted(counts)]
        echo_json({**totals.as_json(), "wouldSend": rows})
    else:
        for configuration, name, address in sorted(counts):
            number = counted(counts[configuration, name, address], "request")
            echo_wrapped(f"would send {number} to {configuration} / {name} at {address}")
    click.echo(f"{totals.text('to compare')}; nothing was sent: add --yes", err=True)


def echo_report(
    found: Sequence[ComparedRequest], totals: Totals, form: str, *, verbose: bool
) -> None:
    """Print the number of each outcome by rule, and an example of each that is not equal."""
    counts = Counter((each.rule.name, each.rule.outcome) for each in found)
    names = sorted({name for name, _ in counts})
    if form == "json":
        rules = [
            {**name._asdict(), **{each: counts[name, each] for each in OUTCOMES}} for name in names
        ]
        others = [_as_json(each) for each in found if each.rule.outcome != "equal"]
        echo_json({**totals.as_json(), "rules": rules, "results": others})
        return
    if names:
        rows = [
            [str(name), *(str(counts[name, each] or "-") for each in OUTCOMES)] for name in names
        ]
        for row in aligned([["POLICY/RULE", *map(str.upper, OUTCOMES)], *rows]):
            click.echo(row)
    for line in _examples(found, verbose):
        echo_wrapped(line)
    unequal = len({each.place for each in found if each.rule.outcome in DIFFERENT})
    click.echo(f"{totals.text('compared')}: {unequal} not equal", err=True)


def _examples(found: Sequence[ComparedRequest], verbose: bool) -> Iterator[str]:
    ordered = sorted((each for each in found if each.rule.outcome != "equal"), key=_key)
    for _, group in groupby(ordered, _key):
        members = list(group)
        for each in members if verbose else members[:1]:
            rule = each.rule
            what = styled(rule.outcome, fg=_COLOURS.get(rule.outcome, "yellow"))
            yield f"\n{what}  {rule.name}  {each.request} ({each.place})"
            yield f"  other product: {one_line(rule.other)}"
            if rule.policyd:
                yield f"  policyd:       {one_line(rule.policyd)}"
        if not verbose and len(members) > 1:
            yield f"  and {counted(len(members) - 1, 'more request')}: -v lists them"


def _key(each: ComparedRequest) -> tuple[int, str]:
    return (OUTCOMES.index(each.rule.outcome), str(each.rule.name))


def _as_json(each: ComparedRequest) -> JSONObject:
    rule = each.rule
    return {
        "outcome": rule.outcome,
        **rule.name._asdict(),
        "request": each.request,
        "place": each.place,
        "policyd": rule.policyd,
        "other": rule.other,
    }
