"""``python -m tools.bench.hypercorn_echo``: the echo app on Hypercorn as it is, with uvloop.

Its cost is the yardstick of policyd's own server path. Flags are ignored.
"""

import asyncio
import json
import socket
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import uvloop
from hypercorn.asyncio import serve
from hypercorn.config import Config

from policyd.server.allocator import keep_memory
from policyd.tls.issuing import self_signed
from tools.bench.echo import app


def main() -> None:
    """Serve on a free port, and log it as policyd does."""
    keep_memory()
    listening = socket.create_server(("127.0.0.1", 0))
    config = Config()
    config.bind = [f"fd://{listening.fileno()}"]
    config.accesslog = config.errorlog = None
    config.keep_alive_max_requests = sys.maxsize
    address = f"https://127.0.0.1:{listening.getsockname()[1]}"
    with TemporaryDirectory() as folder:
        for name, content in zip(("certfile", "keyfile"), self_signed(), strict=True):
            file = Path(folder) / name
            file.write_bytes(content)
            setattr(config, name, str(file))
        line = {"event": "listening", "reviews": address, "admin": address}
        print(json.dumps(line), file=sys.stderr, flush=True)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(app, config))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
