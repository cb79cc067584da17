"""Bring a cluster in step with a plan: its API server runs some policies, the webhook the others.

At every moment at least one of the two enforces each policy: the API server begins before the rules
of the webhook lose a policy, and ends after they have it again.
"""

from collections.abc import Callable, Iterator

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


class Placing:
    """One run. ``pause`` waits for some seconds and returns whether to go on; ``note`` prints what
    is waited for, and what is wrong.
    """

    def __init__(
        self,
        objects: Objects,
        state: InTreeState,
        options: RenderOptions,
        *,
        force: bool,
        pause: Callable[[float], bool],
        note: Callable[[str], None],
    ) -> None:
        self._objects = objects
        self._state = state
        self._plan = state.plan
        self._options = options
        self._force = force
        self._pause = pause
        self._note = note
        self._stored = dict(state.stored)

    def run(self) -> Iterator[ConfigurationChange]:
        """Yield each change when it is made. Ends early if ``pause`` says so; whatever was reached
        then enforces every policy.
        """
        for (name, _), why in self._state.refused.items():
            self._note(f"warning: {name} runs by the webhook: {why}")
        yield from self._widen()
        surplus = removals(self._plan.wanted, self._stored, self._options.name)
        if surplus:
            self._note(f"waiting {WIDE_SECONDS:g} s until API servers follow the webhook's rules")
            if not self._pause(WIDE_SECONDS):
                return
            for step in surplus:
                uid = step.document["metadata"]["uid"]
                self._objects.delete(path_of(step.document), uid=uid)
                del self._stored[key_of(step.document)]
                yield _deleted(step)
            if not self._pause(BINDING_SECONDS):
                return
        for step in policy_writes(self._plan.wanted, self._stored):
            yield self._apply(step)
        bindings = list(binding_writes(self._plan.wanted, self._stored))
        if bindings and not self._pause(BINDING_SECONDS):
            return
        for step in bindings:
            yield self._apply(step)
        yield from self._narrow()

    def _widen(self) -> Iterator[ConfigurationChange]:
        """Let the webhook be called for every policy that is not in force in the API server."""
        policies = self._state.policies.without(self._state.in_force)
        wanted = {each["kind"]: each for each in configurations(policies, self._options)}
        for change in self._due(wanted, narrow=False):
            if change.wanted is not None:
                path = configuration_path(change.kind, self._options.name)
                body, before = change.wanted, change.found
                yield applied(self._objects, path, body, before, force=self._force)

    def _narrow(self) -> Iterator[ConfigurationChange]:
        """Take the policies that the API server enforces out of the rules of the webhook."""
        in_force = self._plan.in_force(self._stored)
        for part in sorted(self._plan.placement.in_tree - in_force):
            self._note(
                f"warning: the documents of {part[0]} are stored otherwise than they were applied;"
                " the webhook enforces it"
            )
        left = configurations(self._state.policies.without(in_force), self._options)
        due = list(self._due({each["kind"]: each for each in left}, narrow=True))
        if due and in_force:
            self._note("waiting until every API server enforces the policies that were placed")
            if not self._wait_until_seen() or not self._pause(NARROWING_SECONDS):
                return
            # Somebody may have changed or deleted documents meanwhile.
            stored = stored_documents(self._objects, self._state.served)
            in_force &= self._plan.in_force(stored)
            left = configurations(self._state.policies.without(in_force), self._options)
        yield from synchronized(self._objects, left, self._options.name, force=self._force)

    def _wait_until_seen(self) -> bool:
        if not self._pause(SEEN_SECONDS):
            return False
        wanted = self._state.documents
        stored = stored_documents(self._objects, self._state.served)
        placed = [each for key, each in stored.items() if key in wanted]
        for each in placed:
            for warning in type_warnings(each):
                self._note(f"warning: {each['kind']} {each['metadata']['name']}: {warning}")
        # Without a controller nothing reports that a document has been seen: only time does.
        return observed(placed) or self._pause(UNSEEN_SECONDS - SEEN_SECONDS)

    def _due(self, wanted: dict[str, JSONObject], *, narrow: bool) -> Iterator[ConfigurationWrite]:
        name, options = self._options.name, self._options
        found = {
            kind: each
            for kind in RESOURCES
            if (each := current(self._objects, configuration_path(kind, name))) is not None
        }
        own = [options.namespace] if options.namespace else []
        excluded = (*options.excluded_namespaces, *own)
        yield from changes(found, wanted, narrow=narrow, excluded=excluded)

    def _apply(self, step: DocumentStep) -> ConfigurationChange:
        path = path_of(step.document)
        change = applied(self._objects, path, step.document, step.found, force=self._force)
        assert change.after is not None
        if self._force and not in_step(change.after, step.document):
            # Items that somebody else added to a list are not removed by applying.
            after = self._objects.replace(path, replacing(change.after, step.document))
            change = ConfigurationChange(change.kind, change.name, "configured", step.found, after)
        assert change.after is not None
        self._stored[key_of(step.document)] = change.after
        return change


def _deleted(step: DocumentStep) -> ConfigurationChange:
    kind, name = key_of(step.document)
    return ConfigurationChange(kind, name, "deleted", step.document, None)
