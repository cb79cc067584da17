"""One use of ``python -m tools.crossover``: prints the plan, and carries it out."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from policyd.cli.shared.manifests import read_manifests
from policyd.cli.shared.output import styled
from policyd.cli.shared.policy_options import require_policies
from policyd.cli.shared.terminal.wrapping import echo_wrapped
from policyd.cluster.bounds import MAX_PAGE_BYTES
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.errors import ConfigError
from policyd.export.exported_policies import exported
from policyd.json_types import JSONObject
from policyd.policy.compile import compiler
from policyd.policy.source.loaded_documents import Sources
from policyd.policy.source.loader import load, load_built
from policyd.versions import nearest
from policyd.webhooks.rendering.options import RenderOptions
from tools.crossover.cpu import ApiServerCpu, CpuSource, PolicydCpu
from tools.crossover.decisions import decisions, idle_policies
from tools.crossover.installing import leftovers, removing
from tools.crossover.model import CreateRequest, Results
from tools.crossover.options import CrossoverOptions
from tools.crossover.output import plan_text
from tools.crossover.planning import CrossoverPlan, planned
from tools.crossover.requests import create_requests
from tools.crossover.running import new_run, run, served_kinds, version_of
from tools.crossover.serving import serving
from tools.crossover.webhooks import served_documents, webhook_configurations

TIMEOUT = 30.0  # seconds per request to the API server


class CrossoverRun:
    """Everything that one use of the command was given."""

    def __init__(
        self,
        paths: tuple[Path, ...],
        options: CrossoverOptions,
        kubeconfig: Path | None,
        context: str | None,
    ) -> None:
        self._paths = paths
        self._options = options
        self._config = configuration(kubeconfig, context)

    async def run(self, *, confirmed: bool) -> tuple[CrossoverPlan, Results] | None:
        """Print the plan; carry it out if it is confirmed, and return what was found."""
        client = ObjectClient(self._config, TIMEOUT, MAX_PAGE_BYTES)
        try:
            with _terminable():
                return await self._run(client, confirmed=confirmed)
        except ObjectError as error:
            raise ConfigError(str(error)) from None
        finally:
            await client.close()

    async def _run(
        self, client: ObjectClient, *, confirmed: bool
    ) -> tuple[CrossoverPlan, Results] | None:
        version, warning = nearest(await version_of(client))
        if warning:
            _warn(warning)
        sources = require_policies(load(self._paths, version=version), self._paths)
        compiler.compile_strict(sources)  # raises PolicyError
        plan = planned(
            exported(sources),
            new_run(),
            served=await served_kinds(client),
            webhook=self._options.webhook,
        )
        manifests = read_manifests(self._options.manifests).required()
        requests = await create_requests(client, [each.raw for each in manifests.documents])
        for name, plurals in (await leftovers(client)).items():
            _warn(
                f"there are objects of run {name}, which was killed or is still running; if it is "
                f"not, remove them with: {removing(name, plurals)}"
            )
        where = f"{self._config.cluster.server} (Kubernetes {version})"
        echo_wrapped(plan_text(plan, requests, self._options, where), err=True)
        if len(plan.arrangements) == 1:
            raise ConfigError("none of these policies can run in the API server of this cluster")
        if not confirmed:
            click.echo("Nothing was created. Add --yes to do this.", err=True)
            return None
        return plan, await self._measured(client, plan, requests, sources)

    async def _measured(
        self,
        client: ObjectClient,
        plan: CrossoverPlan,
        requests: tuple[CreateRequest, ...],
        sources: Sources,
    ) -> Results:
        documents = served_documents(sources, plan)
        cpu: list[CpuSource] = [ApiServerCpu(client)]
        webhooks: list[JSONObject] = []
        with self._called(documents, sources) as (called, urls):
            if called is not None:
                loaded = load_built(documents, version=sources.version)
                webhooks = webhook_configurations(compiler.compile_strict(loaded), plan, called)
            if urls:
                cpu.append(PolicydCpu(urls))
            before = decisions(urls)
            results = await run(
                client,
                plan,
                requests,
                webhooks=webhooks,
                sources=cpu,
                limits=self._options.limits,
                report=_report,
            )
            idle = idle_policies(plan.arrangements, before, decisions(urls)) if urls else ()
            return replace(results, remarks=(*results.remarks, *idle))

    @contextmanager
    def _called(
        self, documents: list[JSONObject], sources: Sources
    ) -> Iterator[tuple[RenderOptions | None, tuple[str, ...]]]:
        """How the API server calls policyd, and the URLs of its metrics; started if need be."""
        options = self._options
        if options.serve is None:
            yield options.called, options.metrics_urls
            return
        with serving(documents, options.serve, sources.version) as server:
            called = RenderOptions(
                url=server.url, ca_bundle=server.authority, excluded_namespaces=()
            )
            yield called, (server.metrics,)


@contextmanager
def _terminable() -> Iterator[None]:
    """Cancel this task at SIGTERM and SIGHUP, once: what follows must not interrupt the removal."""
    task, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert task is not None
    signals = (signal.SIGTERM, signal.SIGHUP)

    def cancel() -> None:
        for each in signals:
            loop.add_signal_handler(each, lambda: None)
        task.cancel()

    for each in signals:
        loop.add_signal_handler(each, cancel)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


def _report(text: str) -> None:
    click.echo(text, err=True)


def _warn(text: str) -> None:
    echo_wrapped(f"{styled('warning', fg='yellow')}: {text}", err=True)
