"""A webhook of a few lines, with a certificate that an API server accepts. No tests here."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.cluster import Cluster
from tests.webhook_server import Answer, webhook_server


@contextmanager
def answering(api: Cluster, answer: Answer) -> Iterator[int]:
    """Serve, and yield the port; ``answer`` is that of ``webhook_server``."""
    with webhook_server(api.folder / "server.crt", api.folder / "server.key", answer) as port:
        yield port
