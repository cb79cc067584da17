"""``python -m tools.bench.echo FLAGS``: policyd's server path with an app that parses and echoes.

Takes the flags of ``policyd serve``; what it costs is the floor under every review.
"""

import sys
from typing import Any

import click
import orjson

from policyd.cli.shared.settings import settings_options
from policyd.config import resolve
from policyd.http.messages import ASGIScope, Receive, Send
from policyd.server.composition import Server
from policyd.server.policies.policy_loader import PolicyLoader

HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"150")]


async def app(scope: ASGIScope, receive: Receive, send: Send) -> None:
    """Parse the whole body and answer 150 bytes."""
    if scope["type"] != "http":
        return  # Hypercorn asks for the lifespan
    body = b""
    more = True
    while more:
        message = await receive()
        body += message["body"]
        more = message.get("more_body", False)
    uid = orjson.loads(body)["request"]["uid"]
    answer = orjson.dumps({"response": {"uid": uid, "allowed": True}})
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": answer.ljust(150)})


@click.command()
@settings_options
def main(**flags: object) -> None:
    """Serve the echo app as policyd would be served."""
    server = Server(resolve(flags, {}, {}, ""), PolicyLoader(), _never)
    server.app = app
    server.run()


def _never(*_: Any, **__: Any) -> Any:
    raise AssertionError("the echo app asks no engine")


if __name__ == "__main__":
    main(sys.argv[1:])
