"""Finds all leftovers of other engines in a cluster in one pass. Only reads."""

from collections.abc import Iterable, Iterator

from policyd.cluster.listing import ApiReader
from policyd.errors import Problem
from policyd.leftovers.dead_webhooks import dead_webhooks
from policyd.leftovers.engines import engines
from policyd.leftovers.policies import enforced_twice, without_effect
from policyd.leftovers.services import Services, configurations
from policyd.migration.live_policies import ReadProgress, read_policies
from policyd.policy.source.loaded_documents import Document


def leftovers(
    reader: ApiReader, policies: Iterable[Document], unread: list[Problem], advance: ReadProgress
) -> Iterator[Problem]:
    """Yield all findings; ``policies`` are policyd's. ``unread`` collects problems of reading.
    Raises ConfigError if the cluster cannot be queried at all.
    """
    live = read_policies(reader, (), advance)
    unread += live.unread
    before = len(unread)
    found, services = [*configurations(reader, unread)], Services(reader, unread)
    yield from dead_webhooks(found, services)
    if len(unread) > before:
        return  # the running engines are not known
    running = engines(found, services, reader)
    yield from without_effect(live.documents, running)
    yield from enforced_twice(policies, live.documents, running)
