"""Bring a cluster in step with a plan: its API server runs some policies, the webhook the others.

At every moment at least one of the two enforces each policy: the API server begins before the rules
of the webhook lose a policy, and ends after they have it again.
"""

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

from policyd.cli.webhooks.in_tree import InTreeState, stored_documents
from policyd.cli.webhooks.synchronizing import (
    ConfigurationChange,
    applied,
    configurations,
    current,
    synchronized,
)
from policyd.cluster.commands import Objects
from policyd.controllers.registration.configurations import (
    NARROWING_SECONDS,
    ConfigurationWrite,
    changes,
)
from policyd.json_types import JSONObject
from policyd.placement.comparing import in_step
from policyd.placement.document_steps import (
    BINDING_SECONDS,
    SEEN_SECONDS,
    UNSEEN_SECONDS,
    WIDE_SECONDS,
    DocumentStep,
    binding_writes,
    observed,
    policy_writes,
    removals,
    replacing,
    type_warnings,
)
from policyd.placement.placed_documents import key_of, path_of
from policyd.webhooks.configuration_paths import RESOURCES
from policyd.webhooks.configuration_paths import path_of as configuration_path
from policyd.webhooks.rendering.options import RenderOptions


def would_change(
    objects: Objects, state: InTreeState, options: RenderOptions
) -> Iterator[ConfigurationChange]:
    """Yield what a run would have changed in the end; changes nothing."""
    plan, stored = state.plan, state.stored
    left = configurations(state.policies.without(plan.placement.in_tree), options)
    yield from synchronized(objects, left, options.name, force=True, dry_run=True)
    for key, each in state.documents.items():
        before = stored.get(key)
        if before is None or not in_step(before, each):
            yield applied(objects, path_of(each), each, before, force=True, dry_run=True)
    for step in removals(plan.wanted, stored, options.name):
        if key_of(step.document) not in state.documents:
            yield _deleted(step)


@dataclass
class Placing:
    """One run. ``pause`` waits for some seconds and returns whether to go on; ``note`` prints what
    is waited for, and what is wrong.
    """

    objects: Objects
    state: InTreeState
    options: RenderOptions
    _: KW_ONLY
    force: bool
    pause: Callable[[float], bool]
    note: Callable[[str], None]

    def __post_init__(self) -> None:
        self._stored = dict(self.state.stored)

    def run(self) -> Iterator[ConfigurationChange]:
        """Yield each change when it is made. Ends early if ``pause`` says so; whatever was reached
        then enforces every policy.
        """
        for (name, _), why in self.state.refused.items():
            self.note(f"warning: {name} runs by the webhook: {why}")
        yield from self._widen()
        surplus = removals(self.state.plan.wanted, self._stored, self.options.name)
        if surplus:
            self.note(f"waiting {WIDE_SECONDS:g} s until API servers follow the webhook's rules")
            if not self.pause(WIDE_SECONDS):
                return
            for step in surplus:
                uid = step.document["metadata"]["uid"]
                self.objects.delete(path_of(step.document), uid=uid)
                del self._stored[key_of(step.document)]
                yield _deleted(step)
            if not self.pause(BINDING_SECONDS):
                return
        for step in policy_writes(self.state.plan.wanted, self._stored):
            yield self._apply(step)
        bindings = list(binding_writes(self.state.plan.wanted, self._stored))
        if bindings and not self.pause(BINDING_SECONDS):
            return
        for step in bindings:
            yield self._apply(step)
        yield from self._narrow()

    def _widen(self) -> Iterator[ConfigurationChange]:
        """Let the webhook be called for every policy that is not in force in the API server."""
        policies = self.state.policies.without(self.state.in_force)
        wanted = {each["kind"]: each for each in configurations(policies, self.options)}
        for change in self._due(wanted, narrow=False):
            if change.wanted is not None:
                path = configuration_path(change.kind, self.options.name)
                body, before = change.wanted, change.found
                yield applied(self.objects, path, body, before, force=self.force)

    def _narrow(self) -> Iterator[ConfigurationChange]:
        """Take the policies that the API server enforces out of the rules of the webhook."""
        in_force = self.state.plan.in_force(self._stored)
        for part in sorted(self.state.plan.placement.in_tree - in_force):
            self.note(
                f"warning: the documents of {part[0]} are stored otherwise than they were applied;"
                " the webhook enforces it"
            )
        left = configurations(self.state.policies.without(in_force), self.options)
        due = list(self._due({each["kind"]: each for each in left}, narrow=True))
        if due and in_force:
            self.note("waiting until every API server enforces the policies that were placed")
            if not self._wait_until_seen() or not self.pause(NARROWING_SECONDS):
                return
            # Somebody may have changed or deleted documents meanwhile.
            stored = stored_documents(self.objects, self.state.served)
            in_force &= self.state.plan.in_force(stored)
            left = configurations(self.state.policies.without(in_force), self.options)
        yield from synchronized(self.objects, left, self.options.name, force=self.force)

    def _wait_until_seen(self) -> bool:
        if not self.pause(SEEN_SECONDS):
            return False
        wanted = self.state.documents
        stored = stored_documents(self.objects, self.state.served)
        placed = [each for key, each in stored.items() if key in wanted]
        for each in placed:
            for warning in type_warnings(each):
                self.note(f"warning: {each['kind']} {each['metadata']['name']}: {warning}")
        # Without a controller nothing reports that a document has been seen: only time does.
        return observed(placed) or self.pause(UNSEEN_SECONDS - SEEN_SECONDS)

    def _due(self, wanted: dict[str, JSONObject], *, narrow: bool) -> Iterator[ConfigurationWrite]:
        name, options = self.options.name, self.options
        found = {
            kind: each
            for kind in RESOURCES
            if (each := current(self.objects, configuration_path(kind, name))) is not None
        }
        own = [options.namespace] if options.namespace else []
        excluded = (*options.excluded_namespaces, *own)
        yield from changes(found, wanted, narrow=narrow, excluded=excluded)

    def _apply(self, step: DocumentStep) -> ConfigurationChange:
        path = path_of(step.document)
        change = applied(self.objects, path, step.document, step.found, force=self.force)
        assert change.after is not None
        if self.force and not in_step(change.after, step.document):
            # Items that somebody else added to a list are not removed by applying.
            after = self.objects.replace(path, replacing(change.after, step.document))
            change = ConfigurationChange(change.kind, change.name, "configured", step.found, after)
        assert change.after is not None
        self._stored[key_of(step.document)] = change.after
        return change


def _deleted(step: DocumentStep) -> ConfigurationChange:
    kind, name = key_of(step.document)
    return ConfigurationChange(kind, name, "deleted", step.document, None)
