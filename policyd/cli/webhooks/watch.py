"""``policyd webhooks watch``: keeps the configurations of a cluster in step with policy files."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING

import click

from policyd.cli.shared.kubeconfig import TIMEOUT
from policyd.cli.shared.policy_options import loaded
from policyd.cli.webhooks.in_tree import cluster_version, in_tree
from policyd.cli.webhooks.options import FORCE, WebhookOptions, webhook_options
from policyd.cli.webhooks.placing import Placing
from policyd.cli.webhooks.synchronizing import (
    OURS,
    ConfigurationChange,
    cluster,
    configurations,
    synchronized,
)
from policyd.cluster.commands import Objects
from policyd.controllers.waiting import until_any
from policyd.errors import PolicydError
from policyd.placement.placed_documents import ServedKinds, list_path
from policyd.policy.compile.policy_set import CompiledPolicySet
from policyd.policy.source.loaded_documents import Sources
from policyd.server.policies.file_watch import changed, fingerprint
from policyd.versions import NEWEST
from policyd.webhooks.configuration_paths import RESOURCES, path_of
from policyd.webhooks.reach.policy_reach import reach

if TYPE_CHECKING:
    from policyd.cluster.objects import ObjectClient
    from policyd.cluster.watching import Watched

RETRY = 10.0  # seconds after a failure
# Runs in a row that repaired something before somebody else's changes are waited for ever longer,
# and the seconds without one after which they count anew.
QUICK_REPAIRS = 5
LONGEST_PAUSE, QUIET = 30.0, 300.0
LOOK = 1.0  # seconds between looks at whether the cluster can be watched
_EPILOG = """\b
Examples:
  policyd webhooks watch -p policies/
  policyd webhooks watch -p policies/ --ca-file ca.crt --context dev
  policyd webhooks watch -p policies/ --in-tree auto
  policyd webhooks watch -p policies/ --url https://10.0.0.7:8443 \\
      --ca-file ca.crt --force-conflicts

Exit status: 0 when it is stopped by SIGTERM or SIGINT, 2 if the policies or an option are invalid
at the start or the cluster cannot be reached then.
"""


@click.command("watch", epilog=_EPILOG)
@webhook_options
@FORCE
def command(*, given: WebhookOptions, force: bool) -> None:
    """Keep the webhook configurations of a cluster in step with policy files.

    Whenever the files change, or somebody changes or deletes the configurations or a document that
    was placed with --in-tree, they are applied again, as policyd webhooks apply does. While the
    policies are invalid, the last valid ones count. Runs in the foreground until it is stopped, and
    deletes nothing then.
    """
    watch = _Watch(given, force)
    watch.start()
    watch.synchronize(waits=False)
    asyncio.run(watch.run())


class _Watch:
    """The state of the command: the configurations that are wanted."""

    def __init__(self, given: WebhookOptions, force: bool) -> None:
        self.given = given
        self.force = force
        self.version = NEWEST
        self.served = ServedKinds()
        self.loaded: tuple[Sources, CompiledPolicySet] | None = None
        self.state = fingerprint(given.paths)
        # Set when a run should not go on waiting: it began with policies that have changed.
        self.interrupted = threading.Event()
        self.stopped = False
        self.repairs = 0  # runs that wrote although the files were the same
        self.repaired_at = 0.0
        self.rest = 0.0  # seconds until the next run, whatever others change

    def start(self) -> None:
        """Load the policies, for the version of the cluster if it is to enforce some."""
        if self.given.mode is not None:
            with cluster(self.given.kube) as objects:
                self.version = cluster_version(objects)
        self.load()

    def load(self) -> None:
        """Load the policies, and render once to check the result."""
        sources, policies = loaded(self.given.paths, self.version)
        wanted = configurations(policies, self.given.options)
        self.loaded = sources, policies
        _log(f"loaded {len(policies.policies)} policies, generation {policies.generation}")
        for found in reach(policies, wanted):
            for gap in found.gaps:
                _log(f"warning: {found.kind} {found.policy} is {found.state}: {gap}")

    def synchronize(self, *, waits: bool = True) -> int:
        """Apply what is wanted, where the cluster differs; with ``waits`` also what can only follow
        after some time. Returns the number of changes.
        """
        changes = 0
        if waits:
            self.interrupted.clear()
        else:
            self.interrupted.set()
        with cluster(self.given.kube) as objects:
            for change in self._changes(objects):
                if change.what == "left":
                    _log(f"warning: {change.label} is not needed, but it is not policyd's")
                elif change.what != "unchanged":
                    changes += 1
                    _log(f"{change.label} {change.what}")
        return changes

    def _changes(self, objects: Objects) -> Iterator[ConfigurationChange]:
        assert self.loaded is not None
        given, options, force = self.given, self.given.options, self.force
        if given.mode is None:
            wanted = configurations(self.loaded[1], options)
            return synchronized(objects, wanted, options.name, force=force)
        version = cluster_version(objects)
        if version != self.version:
            self.version = version
            self.load()
        state = in_tree(objects, given, given.mode, self.loaded, force=force)
        self.served = state.served
        placing = Placing(objects, state, options, force=force, pause=self._pause, note=_log)
        return placing.run()

    def _pause(self, seconds: float) -> bool:
        return not self.stopped and not self.interrupted.wait(seconds)

    async def run(self) -> None:
        """Follow the files and the cluster until a signal."""
        from policyd.cluster.kubeconfig import configuration
        from policyd.cluster.objects import ObjectClient

        stop, due, edited = asyncio.Event(), asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end, stop)
        kube = self.given.kube
        config = configuration(kube.file, kube.context)
        objects = ObjectClient(config, TIMEOUT)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(objects.close)
            tasks = await stack.enter_async_context(asyncio.TaskGroup())
            tasks.create_task(self._follow_files(stop, due, edited))
            for each in self._lists():
                tasks.create_task(self._follow_cluster(objects, each, stop, due))
            if self.given.mode is not None:
                due.set()  # what the first run did not wait for
            _log(f"watching {', '.join(map(str, self.given.paths))} and the cluster")
            while not stop.is_set():
                await until_any(stop, due)
                due.clear()
                if stop.is_set():
                    break
                edited.clear()
                try:
                    self._note_repair(await asyncio.to_thread(self.synchronize))
                except PolicydError as error:
                    _log(f"error: {error}; trying again in {RETRY:g} s")
                    loop.call_later(RETRY, due.set)
                await until_any(stop, edited, seconds=self.rest)
        _log("stopped; the configurations stay as they are")

    def _end(self, stop: asyncio.Event) -> None:
        self.stopped = True
        self.interrupted.set()
        stop.set()

    def _lists(self) -> Iterator["Watched"]:
        """Yield what may be changed by others: the configurations, and placed documents."""
        from policyd.cluster.watching import Watched

        selected = f"metadata.name={self.given.options.name}"
        for kind in RESOURCES:
            yield Watched(path_of(kind), field_selector=selected, metadata_only=True)
        for kind, version in self.served.versions.items():
            yield Watched(list_path(kind, version), label_selector=OURS, metadata_only=True)

    async def _follow_files(
        self, stop: asyncio.Event, due: asyncio.Event, edited: asyncio.Event
    ) -> None:
        async for _ in changed(self.given.paths, stop, known=self.state):
            try:
                await asyncio.to_thread(self.load)
            except PolicydError as error:
                _log(f"error: the policies changed and are invalid; the former ones count: {error}")
                continue
            self.interrupted.set()
            self.repairs = 0
            due.set()
            edited.set()

    async def _follow_cluster(
        self, objects: "ObjectClient", watched: "Watched", stop: asyncio.Event, due: asyncio.Event
    ) -> None:
        from policyd.cluster.watching import RELIST_SECONDS, Reflector

        resource = watched.path.rpartition("/")[2]
        reflector = Reflector(
            objects, watched, changed=lambda _space, _name: due.set(), relist=RELIST_SECONDS
        )
        running = asyncio.ensure_future(reflector.run(stop))
        problem = ""
        while not running.done():
            await asyncio.wait([running], timeout=LOOK)
            if reflector.problem != problem:
                problem = reflector.problem
                what = f"cannot watch them: {problem}" if problem else "they are watched again"
                _log(f"{'error' if problem else 'note'}: {resource}: {what}")
        await running

    def _note_repair(self, changes: int) -> None:
        """Repair less and less often what somebody changes again and again."""
        now = monotonic()
        if not changes:
            self.rest = 0.0
            return
        self.repairs = 1 if now - self.repaired_at > QUIET else self.repairs + 1
        self.repaired_at = now
        self.rest = min(2.0 ** min(max(self.repairs - QUICK_REPAIRS, 0), 20), LONGEST_PAUSE)
        if self.repairs > QUICK_REPAIRS:
            _log(
                "warning: somebody changes what this command writes; the next repair is in"
                f" {self.rest:.0f} s"
            )


def _log(text: str) -> None:
    """Print a line with the time."""
    click.echo(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {text}", err=True)
