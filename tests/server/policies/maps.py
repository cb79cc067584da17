"""ConfigMaps with policies, and stores that load them. No tests here."""

import json
from collections.abc import Hashable, Sequence
from io import BytesIO
from pathlib import Path

from policyd.json_types import JSONObject
from policyd.observability.logs import Log
from policyd.policy.config_maps.config_map_files import bundle_of
from policyd.policy.source.files import Bundle, BundleState
from policyd.server.policies.last_good import LastGoodPolicies
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.server.policies.store import Store
from tests.builders.config_maps import of_day, policy_map


class Maps:
    """ConfigMaps by name; each edit has the next resourceVersion."""

    def __init__(self) -> None:
        self.current: dict[str, Bundle] = {}
        self.version = 0
        self.days: dict[str, int] = {}  # when it was created, by name

    def put(self, name: str, **keys: JSONObject | str) -> None:
        self.version += 1
        made = policy_map(name, None, version=self.version, **keys)
        self.current[name] = bundle_of(of_day(made, self.days.get(name, 20)))

    def fingerprint(self) -> Hashable:
        return tuple(each.version for each in self.read())

    def read(self) -> Sequence[Bundle]:
        return [self.current[name] for name in sorted(self.current)]

    def states(self) -> Sequence[BundleState]:
        return ()


def store_of(maps: Maps, *paths: Path, **options: object) -> Store:
    loader = PolicyLoader()
    return Store(paths, loader.load, live=[maps], **options)  # type: ignore[arg-type]


def started(**maps: JSONObject | str) -> tuple[Maps, Store]:
    made = Maps()
    for name, document in maps.items():
        made.put(name, p=document)
    store = store_of(made)
    store.start()
    return made, store


def loaded(store: Store) -> list[str]:
    return [each.name for each in store.current.policies]


def shown(store: Store) -> dict[str, tuple[str, str]]:
    return {each.name: (each.version, each.held) for each in store.bundles}


class Keeper:
    """A place in memory for the last good policies."""

    image: bytes | None = None

    def read(self) -> bytes | None:
        return self.image

    def write(self, image: bytes) -> bool:
        self.image = image
        return bool(image)

    def store(self, maps: Maps) -> Store:
        loader = PolicyLoader(keep=True)
        kept = LastGoodPolicies(self, loader.restore, Log(BytesIO()))
        return Store((), loader.load, live=[maps], last_good=kept)


def documents(*given: JSONObject | str) -> str:
    """One file with several documents."""
    return "\n---\n".join(each if isinstance(each, str) else json.dumps(each) for each in given)
