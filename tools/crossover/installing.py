"""Create what a run needs, wait until it is in force, and remove it. Measures nothing."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence

from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from tools.crossover.measuring import create
from tools.crossover.model import Arrangement, CreateRequest
from tools.crossover.planning import GROUP, LABEL, PLURALS, CrossoverPlan, marker_object, path_of

PATIENCE = 60.0  # seconds until a namespace accepts objects, or policies are in force
_PAUSE = 0.2  # seconds between two looks
_BASES = tuple(f"apis/{GROUP}/{version}" for version in ("v1", "v1beta1"))


class Installation:
    """What a run has created so far. ``report`` is called with what happens, for people."""

    def __init__(self, client: ObjectClient, run: str, report: Callable[[str], None]) -> None:
        self._client = client
        self._run = run
        self._report = report
        self._made: list[str] = []

    async def namespaces(self, plan: CrossoverPlan, requests: Sequence[CreateRequest]) -> None:
        """Create the namespaces, and wait until the requests are accepted there: service accounts
        take a moment. Raises ConfigError for what the cluster refuses without any policy of ours.
        """
        for document in plan.namespaces:
            await self._create(document)
        config_map = CreateRequest("ConfigMap", "api/v1", "configmaps", marker_object())
        for arrangement in plan.arrangements:
            for request in (config_map, *requests):
                await self._accepted(request, arrangement)

    async def policies(self, plan: CrossoverPlan, webhooks: Sequence[JSONObject]) -> None:
        """Create policies and webhook configurations, and wait until all are in force."""
        for document in (*plan.documents, *webhooks):
            await self._create(document)
        marker = CreateRequest("ConfigMap", "api/v1", "configmaps", marker_object())
        for arrangement in plan.arrangements:
            if arrangement.webhook is not None:
                await self._in_force(marker, arrangement)

    async def remove(self) -> None:
        """Remove everything, last created first. Reports what is left, even when cancelled."""
        try:
            for path in reversed(self._made.copy()):
                try:
                    await self._removed(path)
                except ObjectError as error:
                    self._report(f"cannot remove: {error}")
                    if not error.status:  # no answer: neither to what follows
                        return
                else:
                    self._made.remove(path)
        finally:
            if self._made:
                plurals = dict.fromkeys(path.split("/")[-2] for path in reversed(self._made))
                command = removing(self._run, plurals)
                self._report(f"{len(self._made)} objects are left; remove them with: {command}")

    async def _removed(self, path: str) -> None:
        try:
            await self._client.delete(path)
        except ObjectError as error:
            if error.reason != "NotFound":
                raise

    async def _create(self, document: JSONObject) -> None:
        path = path_of(document)
        # Noted before it is created: the answer may be lost.
        self._made.append(f"{path}/{document['metadata']['name']}")
        try:
            await self._client.create(path, document)
        except ObjectError as error:
            if error.status in range(400, 500):
                self._made.pop()  # refused
            raise

    async def _accepted(self, request: CreateRequest, arrangement: Arrangement) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            denied = await create(self._client, request, arrangement, accepted=False)
            if denied is None:
                return
            if "serviceaccount" not in str(denied) or time.monotonic() >= end:
                raise ConfigError(
                    f"{request.label} is refused without any policy of this run: {denied}"
                )
            await asyncio.sleep(_PAUSE)

    async def _in_force(self, marker: CreateRequest, arrangement: Arrangement) -> None:
        end = time.monotonic() + PATIENCE
        while await self._admitted(marker, arrangement):
            if time.monotonic() >= end:
                raise ConfigError(
                    f"the policies of namespace {arrangement.namespace} are not in force after "
                    f"{PATIENCE:.0f} s"
                )
            await asyncio.sleep(_PAUSE)

    async def _admitted(self, marker: CreateRequest, arrangement: Arrangement) -> bool:
        """Whether the marker object is accepted. A failing matchCondition of a webhook is an
        internal error for the API server.
        """
        try:
            await self._client.create(marker.path(arrangement.namespace), marker.body, dry_run=True)
        except ObjectError as error:
            if error.status in range(400, 600):
                return False
            raise
        return True


async def leftovers(client: ObjectClient) -> dict[str, list[str]]:
    """Return of which other runs there are objects left, each with their kinds in plural."""
    found: dict[str, list[str]] = {}
    for kind, plural in PLURALS.items():
        for base in _BASES if kind != "Namespace" else ("api/v1",):
            try:
                pages = client.list_pages(f"{base}/{plural}", {"labelSelector": LABEL})
                items = [item async for page in pages for item in page.get("items") or ()]
            except ObjectError as error:
                if error.reason == "NotFound":  # not served in this version
                    continue
                raise
            for metadata in (item["metadata"] for item in items):
                plurals = found.setdefault(metadata["labels"][LABEL], [])
                if plural not in plurals and not metadata.get("deletionTimestamp"):
                    plurals.append(plural)
    return {run: plurals for run, plurals in found.items() if plurals}


def removing(run: str, plurals: Iterable[str]) -> str:
    """Return the command that removes the objects of these kinds that are left of a run."""
    return f"kubectl delete {','.join(plurals)} -l {LABEL}={run}"
