"""The webhooks of configurations, and the outcome of each for one request. Only data."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.webhooks.configuration_paths import MUTATING
from policyd.webhooks.validation.decoding import with_defaults

# The reason why a webhook is not called.
DecidedBy = Literal[
    "kind",
    "rules",
    "namespaceSelector",
    "objectSelector",
    "matchConditions",
    "sideEffects",
    "rejection",
]


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook with its defaults; ``index`` is its place in the configuration."""

    kind: str
    configuration: str
    index: int
    fields: JSONObject

    @property
    def name(self) -> str:
        """Return the name of the webhook."""
        return str(self.fields.get("name", ""))

    @property
    def mutates(self) -> bool:
        """Whether it is a mutating webhook."""
        return self.kind == MUTATING

    @property
    def fails(self) -> bool:
        """Whether its failurePolicy is Fail."""
        return bool(self.fields["failurePolicy"] != "Ignore")

    @property
    def reinvoked(self) -> bool:
        """Whether it is called again if the object changes after it."""
        return self.fields.get("reinvocationPolicy") == "IfNeeded"


@dataclass(frozen=True, slots=True)
class HookCall:
    """A called webhook. ``rule`` is the index of the matching rule. ``resource`` and ``kind`` are
    the (group, version, resource or kind) in which the webhook sees the request.

    ``notes``: assumptions.
    """

    hook: Hook
    rule: int
    resource: tuple[str, str, str]
    kind: tuple[str, str, str]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotCalled:
    """A webhook that is not called, and the reason; ``part`` is the deciding part. ``undecided``:
    it may be called. ``others``: why the other rules do not match, if no rule does.
    """

    hook: Hook
    part: DecidedBy
    reason: str
    undecided: bool = False
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """The API server rejects the request because it cannot call a webhook: the code and message of
    the Status. ``part`` is the deciding part.
    """

    hook: Hook
    code: int
    message: str
    part: DecidedBy


HookOutcome = HookCall | NotCalled | Rejection


@dataclass(frozen=True, slots=True)
class Calls:
    """The API server's calls of webhooks for one request.

    ``mutating`` are called one after the other, and those in ``again`` a second time if a later one
    changes the object; then ``validating`` are called at the same time.
    """

    mutating: tuple[HookCall, ...]
    validating: tuple[HookCall, ...]
    others: tuple[NotCalled, ...]
    rejection: Rejection | None = None

    @property
    def again(self) -> tuple[HookCall, ...]:
        """Return the mutating webhooks that may be called a second time."""
        return tuple(call for call in self.mutating if call.hook.reinvoked)


def hooks_of(configurations: Sequence[JSONObject]) -> list[Hook]:
    """Return the webhooks in the order of their calls: by the name of the configuration, then as
    listed; mutating ones first.

    Raises ConfigError for objects that are not webhook configurations, and for duplicate names.
    """
    stored = [with_defaults(each) for each in configurations]
    stored.sort(key=lambda each: (each["kind"] != MUTATING, _name(each)))
    for one, other in pairwise(stored):
        if (one["kind"], _name(one)) == (other["kind"], _name(other)):
            raise ConfigError(f"there are two {one['kind']}s with the name {_name(one)!r}")
    return [
        Hook(each["kind"], _name(each), index, fields)
        for each in stored
        for index, fields in enumerate(each.get("webhooks", []))
    ]


def _name(configuration: JSONObject) -> str:
    return str(configuration.get("metadata", {}).get("name", ""))
