"""CustomResourceDefinitions that a real API server serves for as long as a test needs. No tests here.

The API server outlives the tests, which share the names of their definitions.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from policyd.json_types import JSONObject
from tests.e2e.client import Client, path_of
from tests.server.process import until

Define = Callable[[JSONObject], None]


@contextmanager
def served(client: Client, *definitions: JSONObject) -> Iterator[None]:
    """Serve the kinds for a while; at the end they are gone, with their objects."""
    try:
        for each in definitions:
            serve(client, each)
        yield
    finally:
        for each in definitions:
            client.deleted(each)
            until(partial(_is_gone, client, each), "the end of the definition")


def serve(client: Client, definition: JSONObject) -> None:
    """Create a definition, and wait until its kind is served."""
    client.made(definition)
    path = _path(definition)
    until(lambda: client.send("GET", path).status == 200, path)


def _is_gone(client: Client, definition: JSONObject) -> bool:
    """Return whether it may be made again: its kind is served for a moment longer than it exists."""
    paths = (path_of(definition), _path(definition))
    return all(client.send("GET", path).status == 404 for path in paths)


def _path(definition: JSONObject) -> str:
    """Return where the objects of the kind are listed."""
    spec = definition["spec"]
    return f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
