"""Fetches CustomResourceDefinitions and the version of an API server, and detects changes.

The threads that load policies and check for changes wait for the responses. An event loop in a
separate thread sends the requests concurrently. Fetched definitions are kept: policies continue to
work while the API server is away.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from http import HTTPStatus
from time import perf_counter_ns
from typing import Any, TypeVar

import httpx2
from lightkube.config.kubeconfig import SingleConfig

from policyd.cluster.bounds import (
    MAX_ANSWER_BYTES,
    InvalidAnswer,
    UndecodableAnswer,
    json_object,
    named,
)
from policyd.cluster.client import (
    PROBLEMS,
    ReportLookup,
    bounded_client,
    describe,
    raise_for_status,
    trusted,
)
from policyd.json_types import JSONObject
from policyd.policy.kinds.wanted_definitions import EVERY, WantedDefinition, slim

_Result = TypeVar("_Result")
PATH = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Metadata is enough to detect which definitions exist and whether they changed.
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1"
# The longest wait for one response: the first policy set cannot be loaded without it.
LONGEST = 2.0
# The longest wait for all responses, as a multiple of that for one response.
ROUNDS = 5
# Definitions that are fetched concurrently.
AT_A_TIME = 8
# Definitions in one response: metadata may have annotations of 256 KiB each.
_PAGE = "100"


class ClusterDefinitions:
    """Fetches and caches; raises nothing. ``report`` is called after each request with its success
    and its nanoseconds.
    """

    def __init__(self, config: SingleConfig, timeout: float, report: ReportLookup) -> None:
        self._config = config
        self._timeout = min(timeout, LONGEST)
        self._report = report
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._made: httpx2.AsyncClient | None = None
        self._room = asyncio.Semaphore(AT_A_TIME)
        self._wanted: frozenset[WantedDefinition] = frozenset()
        self._known: dict[str, JSONObject] = {}
        self._versions: dict[str, str] = {}
        self.problem = ""

    def fetch(self, wanted: frozenset[WantedDefinition]) -> list[JSONObject]:
        """These definitions as they are now, or as they were when the API server last answered."""
        if wanted != self._wanted:
            self._wanted = wanted
            self._versions = {}  # schemas that were left out may be needed now
        if wanted:
            self._run(self._attempt(self._any(wanted, self._learn)), False)
        return [crd for name, crd in [*self._known.items()] if _belongs(name, wanted)]

    def fetch_more(self, wanted: frozenset[WantedDefinition], most: int) -> list[JSONObject] | None:
        """The same for definitions that may never be used: they are neither kept nor followed, and
        a wildcard group has only known ones. None if more than ``most`` would have to be fetched.
        """
        found = {
            name: crd
            for name, crd in [*self._known.items()]
            if _belongs(name, wanted)
            and (_is_named(name, self._wanted) or not _is_named(name, wanted))
        }
        missing = frozenset(each for each in wanted - self._wanted if each.group != EVERY)
        if missing and not self._run(self._fetch_more(missing, most, found), False):
            return None
        return [*found.values()]

    def changed(self) -> bool:
        """Whether a definition that policies need is new or has changed since it was fetched."""
        wanted = self._wanted
        return bool(wanted and self._run(self._attempt(self._any(wanted, self._differs)), False))

    @property
    def wants(self) -> bool:
        """Whether policies need any definition."""
        return bool(self._wanted)

    def outdated(self, versions: Mapping[str, str]) -> bool:
        """Whether a definition that policies need is new or has changed since it was fetched, given
        the versions of all definitions.
        """
        return any(
            version != self._versions.get(name) and _belongs(name, self._wanted)
            for name, version in versions.items()
        )

    def kubernetes(self) -> tuple[str, str]:
        """The version that the API server reports (v1.37.1), or "" and why it is not known."""
        return self._run(self._version(), ("", "the connection is closed"))

    def close(self) -> None:
        """Close all connections without waiting for responses."""
        with self._starting:
            loop, thread = self._loop, self._thread
            if loop is None or thread is None:
                return
            asyncio.run_coroutine_threadsafe(self._hang_up(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
            self._loop = self._thread = None

    def _run(self, work: Coroutine[Any, Any, _Result], closed: _Result) -> _Result:
        """Run ``work`` on the loop of this object and return the result; ``closed`` if the object
        was closed meanwhile. The loop is created on first use: most policy sets need no
        definitions.
        """
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="definitions", daemon=True
                )
                self._thread.start()
            loop = self._loop
        try:
            return asyncio.run_coroutine_threadsafe(work, loop).result()
        except CancelledError:
            return closed

    async def _hang_up(self) -> None:
        mine = asyncio.current_task()
        others = [task for task in asyncio.all_tasks() if task is not mine]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._made is not None:
            await self._made.aclose()
            self._made = None

    async def _attempt(self, work: Coroutine[Any, Any, bool]) -> bool:
        """The result of ``work``; False if it fails, with the reason in ``problem``."""
        try:
            async with asyncio.timeout(ROUNDS * self._timeout):
                found = await work
        except TimeoutError:
            self.problem = "the API server did not answer in time"
            return False
        except PROBLEMS as error:
            self.problem = describe(error)
            return False
        self.problem = ""
        return found

    async def _fetch_more(
        self, wanted: frozenset[WantedDefinition], most: int, found: dict[str, JSONObject]
    ) -> bool:
        """Add the definitions that arrive to ``found``; False if there are too many."""

        async def add(name: str) -> None:
            crd = await self._read(name)
            if crd is not None:
                found[name] = slim(crd)

        with suppress(*PROBLEMS):  # TimeoutError is an OSError
            async with asyncio.timeout(ROUNDS * self._timeout):
                names = [name for name in await self._listed(wanted) if name not in found]
                if len(names) > most:
                    return False
                await asyncio.gather(*map(add, names))
        return True

    async def _any(
        self,
        wanted: frozenset[WantedDefinition],
        query: Callable[[str, str], Coroutine[Any, Any, bool]],
    ) -> bool:
        """Run ``query`` for every name and version; return whether any returns True. If none does,
        raise the first problem.
        """
        listed = await self._listed(wanted)
        answers = await asyncio.gather(*map(query, listed, listed.values()), return_exceptions=True)
        if any(each is True for each in answers):
            return True
        for each in answers:
            if isinstance(each, BaseException):
                raise each
        return False

    async def _learn(self, name: str, version: str) -> bool:
        """Fetch a definition, unless this version is known; return False."""
        try:
            crd = (
                None if version and version == self._versions.get(name) else await self._read(name)
            )
        except UndecodableAnswer as error:
            # Read it again when it changes, not at each comparison of its version.
            found = await self._metadata(name)
            self._versions[name] = "" if found is None else version_of(found)
            raise InvalidAnswer(f"{name}: {error}") from None
        if crd is not None:
            self._known[name] = slim(crd, _is_named(name, self._wanted))
            self._versions[name] = version_of(crd)
        return False

    async def _read(self, name: str) -> JSONObject | None:
        """The definition with this name; None if there is none."""
        crd = await self._get(f"{PATH}/{name}", "CustomResourceDefinition")
        return crd if crd is not None and named(crd, name).get("spec") else None

    async def _version(self) -> tuple[str, str]:
        try:
            found = await self._get("version", "")
        except PROBLEMS as error:
            return "", describe(error)
        if found is None:
            return "", "the API server answered 404 to GET /version"
        version = found.get("gitVersion")
        if isinstance(version, str):
            return version, ""
        return "", "GET /version returned no gitVersion"

    async def _differs(self, name: str, version: str) -> bool:
        if not version:
            found = await self._metadata(name)
            if found is None:
                return False
            version = version_of(found)
        return version != self._versions.get(name)

    async def _metadata(self, name: str) -> JSONObject | None:
        """The metadata of the definition with this name; None if there is none."""
        found = await self._get(f"{PATH}/{name}", "", as_metadata="PartialObjectMetadata")
        return found if found is None else named(found, name)

    async def _listed(self, wanted: frozenset[WantedDefinition]) -> dict[str, str]:
        """The names of all wanted definitions, with their versions if EVERY group is wanted."""
        names = {each.name: "" for each in wanted if EVERY not in each}
        if any(EVERY in each for each in wanted):
            names |= {
                each: it for each, it in (await self._all()).items() if _belongs(each, wanted)
            }
        return dict(sorted(names.items()))

    async def _all(self) -> dict[str, str]:
        """The version of each definition, by name."""
        versions: dict[str, str] = {}
        following = ""
        while True:
            page = await self._get(
                PATH, "List", "PartialObjectMetadataList", limit=_PAGE, **{"continue": following}
            )
            if page is None:
                return versions
            versions |= {each["metadata"]["name"]: version_of(each) for each in page["items"]}
            following = (page.get("metadata") or {}).get("continue", "")
            if not following:
                return versions

    async def _get(
        self, path: str, kind: str, as_metadata: str = "", **params: str
    ) -> JSONObject | None:
        """The response; None if there is no such object. Raises what the client raises."""
        headers = {"Accept": _METADATA.format(as_metadata)} if as_metadata else None
        given = {key: value for key, value in params.items() if value}
        async with self._room:
            started, answered = perf_counter_ns(), False
            try:
                async with asyncio.timeout(self._timeout):
                    response = await self._client().get(path, params=given, headers=headers)
                if response.status_code == HTTPStatus.NOT_FOUND:
                    answered = True
                    return None
                raise_for_status(response)
                found = json_object(response, kind)
                answered = True
            except TimeoutError:
                raise InvalidAnswer("the API server did not answer in time") from None
            finally:
                self._report(answered, perf_counter_ns() - started)
        return found

    def _client(self) -> httpx2.AsyncClient:
        if self._made is None:
            context = trusted(self._config)
            self._made = bounded_client(self._config, context, self._timeout, MAX_ANSWER_BYTES)
        return self._made


def version_of(crd: JSONObject) -> str:
    """A value that changes with the definition but not with its status."""
    metadata = crd["metadata"]
    return f"{metadata.get('uid')} {metadata.get('generation')}"


def _is_named(name: str, wanted: frozenset[WantedDefinition]) -> bool:
    """Whether the group of a definition is named, so that its schemas may be needed."""
    plural, _, group = name.partition(".")
    return WantedDefinition(group, plural) in wanted or WantedDefinition(group, EVERY) in wanted


def _belongs(name: str, wanted: frozenset[WantedDefinition]) -> bool:
    plural = name.partition(".")[0]
    return (
        _is_named(name, wanted)
        or WantedDefinition(EVERY, plural) in wanted
        or WantedDefinition(EVERY, EVERY) in wanted
    )
