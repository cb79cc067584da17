"""Requests to an app of the admin port, without a server. No tests here."""

import asyncio
import json
from typing import Any

from policyd.admission.recorder import Recorder
from policyd.config import Settings
from policyd.http.app import create_app
from policyd.http.lifecycle import Lifecycle
from policyd.http.limits import InFlight
from policyd.http.messages import App
from policyd.http.status import Render
from policyd.server.policies.store import Store
from policyd.server.policy_evaluator import PolicyEvaluator
from tests.server.fakes import judge

POD = "10.1.2.3"


def ask(
    gate: App, path: str = "/livez", client: str = POD, **headers: str
) -> tuple[int, dict[str, str], Any]:
    """Status, headers and content of an answer."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": "GET",
        "query_string": b"",
        "path": path,
        "headers": named,
        "client": (client, 1),
    }

    async def answer_one() -> None:
        await gate(scope, receive, send)

    asyncio.run(answer_one())
    answer = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], answer, json.loads(sent[1]["body"])


class NoMetrics:
    """An exposition of nothing."""

    def prepare(self, accept: str) -> Render:
        return lambda: (b"", "text/plain")


def admin_app(store: Store, settings: Settings | None = None, **more: Any) -> App:
    """The app of the admin port, which shows the policies of this store."""
    return create_app(
        settings or Settings(),
        store,
        Recorder(),
        PolicyEvaluator(lambda: store.current, evaluate=judge),
        exposition=NoMetrics(),
        in_flight=InFlight(1, 1),
        lifecycle=Lifecycle(),
        **more,
    )
