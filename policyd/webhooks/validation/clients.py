"""Check where a webhook is: its url, or its Service. The caBundle may be anything in base64."""

from collections.abc import Iterator
from urllib.parse import unquote

from policyd._core.net.url import ParsedURL, parsed
from policyd.json_types import JSONObject
from policyd.webhooks.validation.field_problems import FieldProblem, invalid, required
from policyd.webhooks.validation.names import subdomain_errors

MAX_PORT = 65535
_ONLY_ASCII = bytes(range(128)) + b"?" * 128
_FORM = "; desired format: https://host[/path]"


def check_client(client: JSONObject, path: str) -> Iterator[FieldProblem]:
    """Check a clientConfig."""
    if ("url" in client) == ("service" in client):
        yield required(path, "exactly one of url or service is required")
    elif "url" in client:
        yield from _check_url(client["url"], f"{path}.url")
    else:
        yield from _check_service(client["service"], f"{path}.service")


def _check_url(url: str, path: str) -> Iterator[FieldProblem]:
    found = parsed(url)
    if not isinstance(found, ParsedURL):
        yield required(path, f"url must be a valid URL: {found}{_FORM}")
        return
    if found.scheme != "https":
        yield from invalid(path, found.scheme, [f"'https' is the only allowed URL scheme{_FORM}"])
    if not found.host:
        yield from invalid(path, "", [f"host must be specified{_FORM}"])
    if found.user is not None:
        wrong = "user information is not permitted in the URL"
        yield from invalid(path, found.user, [wrong])
    if found.fragment:
        wrong = "fragments are not permitted in the URL"
        yield from invalid(path, unquote(found.fragment), [wrong])
    if found.raw_query:
        wrong = "query parameters are not permitted in the URL"
        yield from invalid(path, found.raw_query, [wrong])


def _check_service(service: JSONObject, path: str) -> Iterator[FieldProblem]:
    # The API server swaps the two: it reports a missing namespace as a missing name.
    if not service.get("namespace"):
        yield required(f"{path}.name")
    if not service.get("name"):
        yield required(f"{path}.namespace")
    port = service["port"]
    if not 1 <= port <= MAX_PORT:
        wrong = f"port is not valid: must be between 1 and {MAX_PORT}, inclusive"
        yield from invalid(f"{path}.port", port, [wrong])
    yield from _check_path(service.get("path", ""), f"{path}.path")


def _check_path(url: str, path: str) -> Iterator[FieldProblem]:
    if url in ("", "/"):
        return
    if url == "//":
        yield from invalid(path, url, ["segment[0] may not be empty"])
        return
    if not url.startswith("/"):
        yield from invalid(path, url, ["must start with a '/'"])
    # The API server removes one byte, even if it is not the slash but a part of a character.
    data = url.encode()[1:].removesuffix(b"/")
    plain = data.translate(_ONLY_ASCII).decode("ascii")
    for index, segment in enumerate(plain.split("/")):
        if not segment:
            yield from invalid(path, url, [f"segment[{index}] may not be empty"])
        else:
            errors = subdomain_errors(segment)
            yield from invalid(path, url, [f"segment[{index}]: {error}" for error in errors])
