"""CustomResourceDefinitions of an API server: those that policies need, and whether they changed;
and its version.

Used by the threads that load policies, so nothing here is asynchronous. A definition that was seen
once stays known: policies that worked go on working while the API server is away.
"""

import threading
from collections.abc import Callable, Iterator
from http import HTTPStatus
from time import perf_counter_ns
from typing import Any

import httpx2
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import SingleConfig
from lightkube.core.generic_client import BasicRequest, GenericSyncClient

from policyd.cluster.client import PROBLEMS, trusted, words
from policyd.policy.compiled import Object
from policyd.policy.live_definitions import EVERY, Wanted, slim

PATH = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Metadata is enough to tell what is there and whether it changed.
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1"
# The first set of policies waits for it: no longer than this for one answer.
LONGEST = 2.0
_PAGE = "500"

Tell = Callable[[bool, int], None]


class Definitions:
    """Fetches and remembers; raises nothing. ``tell`` hears of each question whether it was
    answered, and after how many nanoseconds.
    """

    def __init__(self, config: SingleConfig, timeout: float, tell: Tell) -> None:
        self._config = config
        self._timeout = min(timeout, LONGEST)
        self._tell = tell
        self._made: GenericSyncClient | None = None
        self._lock = threading.Lock()  # who loads and who looks for changes
        self._wanted: frozenset[Wanted] = frozenset()
        self._known: dict[str, Object] = {}
        self._versions: dict[str, str] = {}
        self.problem = ""

    def fetch(self, wanted: frozenset[Wanted]) -> list[Object]:
        """These definitions as they are now, or were when the API server last answered."""
        with self._lock:
            self._wanted = wanted
            self._attempt(self._fetch)
            return [crd for name, crd in self._known.items() if _belongs(name, wanted)]

    def changed(self) -> bool:
        """Whether any that is wanted is new or not as it was when it was fetched."""
        with self._lock:
            return bool(self._attempt(self._differing))

    def kubernetes(self) -> str:
        """The version that the API server says it is, such as v1.37.1; "" if it does not say."""
        with self._lock:
            found = self._attempt(lambda: self._get("version"))
        said = found.get("gitVersion") if isinstance(found, dict) else None
        return said if isinstance(said, str) else ""

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            if self._made is not None:
                self._made.close()  # type: ignore[no-untyped-call]

    def _attempt(self, work: Callable[[], object]) -> object:
        """What ``work`` gives; None (and ``problem`` says why) where it cannot be found out."""
        try:
            found = work()
        except PROBLEMS as error:
            self.problem = words(error)
            return None
        self.problem = ""
        return found

    def _fetch(self) -> None:
        for name in self._names():
            crd = self._get(f"{PATH}/{name}")
            if crd is not None and crd.get("spec"):
                self._known[name] = slim(crd)
                self._versions[name] = _version(crd)

    def _differing(self) -> bool:
        for name in self._names():
            found = self._get(f"{PATH}/{name}", as_metadata="PartialObjectMetadata")
            if found is not None and _version(found) != self._versions.get(name):
                return True
        return False

    def _names(self) -> list[str]:
        """The names of all that is wanted; an EVERY is looked up."""
        groups = {each.group for each in self._wanted if each.plural == EVERY}
        names = {each.name for each in self._wanted if each.group not in groups}
        if groups:
            names.update(name for name in self._all() if name.partition(".")[2] in groups)
        return sorted(names)

    def _all(self) -> Iterator[str]:
        following = ""
        while True:
            page = self._get(
                PATH, "PartialObjectMetadataList", limit=_PAGE, **{"continue": following}
            )
            if page is None:
                return
            yield from (item["metadata"]["name"] for item in page["items"])
            following = page.get("metadata", {}).get("continue", "")
            if not following:
                return

    def _get(self, path: str, as_metadata: str = "", **params: str) -> Any:
        """The answer; None where there is no such thing. Raises what the client raises."""
        headers = {"Accept": _METADATA.format(as_metadata)} if as_metadata else None
        given = {key: value for key, value in params.items() if value}
        started, answered = perf_counter_ns(), False
        try:
            client = self._client()
            request = BasicRequest("GET", path, params=given, headers=headers)
            response = client.send(client.build_adapter_request(request))
            if response.status_code == HTTPStatus.NOT_FOUND:
                answered = True
                return None
            client.raise_for_status(response)  # type: ignore[no-untyped-call]
            found = response.json()
            answered = True
        finally:
            self._tell(answered, perf_counter_ns() - started)
        if not isinstance(found, dict):
            raise ValueError(f"not an object: {path}")
        return found

    def _client(self) -> GenericSyncClient:
        """Made when first needed: most sets of policies want nothing."""
        if self._made is None:
            transport = httpx2.HTTPTransport(verify=trusted(self._config), trust_env=False)
            timeout = httpx2.Timeout(self._timeout)
            given = ConnectionParams(timeout=timeout, trust_env=False, transport=transport)
            self._made = GenericSyncClient(given, self._config)
        return self._made


def _version(crd: Object) -> str:
    """What changes with the definition, but not with its status."""
    metadata = crd["metadata"]
    return f"{metadata.get('uid')} {metadata.get('generation')}"


def _belongs(name: str, wanted: frozenset[Wanted]) -> bool:
    plural, _, group = name.partition(".")
    return Wanted(group, plural) in wanted or Wanted(group, EVERY) in wanted
