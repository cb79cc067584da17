"""Lists, at the start of a run, the ConfigMaps with policies and exceptions that the server
follows.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from policyd.cluster.listing import ApiReader, ApiReadError, pages
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import bundle_of, slim
from policyd.policy.config_maps.team_exceptions import ExceptionNamespaces, HeldBack, TeamExceptions
from policyd.policy.source.files import Bundle


@dataclass(frozen=True, slots=True)
class ConfigMapSelection:
    """The ConfigMaps to read: label selectors, empty for none. ConfigMaps with policies are in
    ``namespace``, those with exceptions in all namespaces that match ``exception_namespaces``.
    """

    policies: str = ""
    namespace: str = ""
    exceptions: str = ""
    exception_namespaces: tuple[str, ...] = ()


def read_bundles(
    reader: ApiReader, selection: ConfigMapSelection, held: Callable[[HeldBack], None]
) -> list[Bundle]:
    """Return the bundles that the server would load. ``held`` is called with each unusable
    ConfigMap of a team. Raises ConfigError if ConfigMaps cannot be listed: without them, reports
    would be wrong.
    """
    found: list[Bundle] = []
    if selection.policies:
        of_policies = _listed(reader, [selection.namespace], selection.policies)
        found += map(bundle_of, sorted(of_policies, key=_name))
    if selection.exceptions:
        allowed = ExceptionNamespaces(selection.exception_namespaces)
        listed = _listed(reader, allowed.literal or [""], selection.exceptions)
        of_teams = [each for each in listed if allowed.allow(_namespace(each))]
        found.append(TeamExceptions(held).take(of_teams))
    return found


def _listed(reader: ApiReader, namespaces: Sequence[str], selector: str) -> Iterator[JSONObject]:
    """Yield the ConfigMaps with these labels in these namespaces; "" means all namespaces."""
    for each in namespaces:
        path = f"/api/v1/namespaces/{each}/configmaps" if each else "/api/v1/configmaps"
        try:
            for page in pages(reader, path, {"labelSelector": selector}):
                yield from map(slim, page.items)
        except ApiReadError as error:
            where = f"namespace {each}" if each else "all namespaces"
            raise ConfigError(
                f"cannot list the ConfigMaps {selector} of {where}: {error}"
            ) from None


def _name(config_map: JSONObject) -> str:
    return str(config_map["metadata"]["name"])


def _namespace(config_map: JSONObject) -> str:
    return str(config_map["metadata"]["namespace"])
