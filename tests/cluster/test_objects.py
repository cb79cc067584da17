"""Reading and writing objects by their paths: what is sent, what is sent again, what an error tells."""

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from policyd.cluster.commands import open_objects
from policyd.cluster.kubeconfig import configuration
from policyd.cluster.objects import ObjectClient, ObjectError
from policyd.json_types import JSONObject
from tests.cluster import lies
from tests.cluster.fake import ApiServer, Call, Reply, refusal
from tests.cluster.lies import lying

MANY = 70  # more than the connections of any other kind of request
LIST = "api/v1/namespaces/shop/configmaps"
ONE = f"{LIST}/a"
BODY: JSONObject = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

Requested = Callable[[ObjectClient], Awaitable[JSONObject]]
REQUESTS: dict[str, Requested] = {
    "get": lambda it: it.get(ONE),
    "create": lambda it: it.create(LIST, BODY),
    "replace": lambda it: it.replace(ONE, BODY),
    "apply": lambda it: it.apply(ONE, BODY, "policyd", force=True),
    "delete": lambda it: it.delete(ONE, uid="u", resource_version="7"),
    "delete_collection": lambda it: it.delete_collection(LIST, "a=b"),
}
SENT: dict[str, tuple[str, str, dict[str, str], str | None, Any]] = {
    "get": ("GET", ONE, {}, None, None),
    "create": ("POST", LIST, {}, "application/json", BODY),
    "replace": ("PUT", ONE, {}, "application/json", BODY),
    "apply": (
        "PATCH",
        ONE,
        {"fieldManager": "policyd", "force": "true"},
        "application/apply-patch+yaml",
        BODY,
    ),
    "delete": (
        "DELETE",
        ONE,
        {},
        "application/json",
        {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": "u", "resourceVersion": "7"},
        },
    ),
    "delete_collection": ("DELETE", LIST, {"labelSelector": "a=b"}, None, None),
}


def request(server: ApiServer, requested: Requested, timeout: float = 5.0) -> JSONObject:
    async def scenario() -> JSONObject:
        made = ObjectClient(configuration(server.kubeconfig()), timeout)
        try:
            return await requested(made)
        finally:
            await made.close()

    return asyncio.run(scenario())


@pytest.mark.parametrize("name", REQUESTS)
def test_what_is_sent(server: ApiServer, name: str) -> None:
    server.answer = lambda _: Reply({"kind": "Status", "status": "Success"})
    assert request(server, REQUESTS[name])["status"] == "Success"
    [call] = server.calls
    path, query = urlsplit(call.path).path, dict(parse_qsl(urlsplit(call.path).query))
    content = call.headers.get("Content-Type")
    assert (call.method, path.lstrip("/"), query, content, call.body) == SENT[name]
    assert call.headers["User-Agent"] == "policyd"  # which managedFields then name


# Which requests are sent again after a status: those that change nothing, or the same once more;
# after 429 all, as the API server has not begun with them.
AGAIN = {
    **{(name, 429): True for name in REQUESTS},
    **{(name, code): name in ("get", "apply") for name in REQUESTS for code in (500, 503, 504)},
    **{(name, code): False for name in REQUESTS for code in (400, 403, 404, 409, 422)},
}


@pytest.mark.parametrize(
    ("name", "code", "again"), [(*each, again) for each, again in AGAIN.items()]
)
def test_what_is_sent_again(server: ApiServer, name: str, code: int, again: bool) -> None:
    answers = iter([refusal(code, "not now"), Reply({"kind": "ConfigMap"})])
    server.answer = lambda _: next(answers)
    if again:
        assert request(server, REQUESTS[name])["kind"] == "ConfigMap"
    else:
        with pytest.raises(ObjectError, match="not now") as caught:
            request(server, REQUESTS[name])
        assert caught.value.status == code
    assert len(server.calls) == 1 + again


@pytest.mark.parametrize("name", REQUESTS)
def test_what_is_sent_again_when_the_connection_ends(name: str, tmp_path: Path) -> None:
    with lying(lies.hang_up) as liar:

        async def scenario() -> None:
            made = ObjectClient(configuration(liar.kubeconfig(tmp_path)), 5.0)
            with pytest.raises(ObjectError, match="cannot be reached") as caught:
                await REQUESTS[name](made)
            assert caught.value.status == 0
            await made.close()

        asyncio.run(scenario())
        assert liar.asked == (3 if name in ("get", "apply") else 1)


def test_an_error_names_request_and_reason(server: ApiServer) -> None:
    body = {"kind": "Status", "reason": "Conflict", "message": "the object has been modified"}
    server.answer = lambda _: Reply(body, 409)
    with pytest.raises(ObjectError) as caught:
        request(server, REQUESTS["replace"])
    assert str(caught.value) == (
        f"PUT /{ONE}: the API server answered 409: the object has been modified"
    )
    assert (caught.value.reason, caught.value.body) == ("Conflict", body)


@pytest.mark.parametrize("name", ["hang", "drip", "dripping head"])
def test_answers_that_do_not_end_are_late(name: str, tmp_path: Path) -> None:
    with lying(lies.LIES[name]) as liar:
        file = liar.kubeconfig(tmp_path)
        with open_objects(file, None, 0.3) as objects, pytest.raises(ObjectError, match="in time"):
            objects.create(LIST, BODY)


NO_ANSWERS = [
    "endless 1xx",
    "endless headers",
    "cut off",
    "longer than its length",
    "gzip bomb",
    "redirect",
    "401",
    "500",
    "an error nested too deep",
    "no HTTP",
    "not UTF-8",
    "empty",
    "null",
    "list",
    "very deep",
    "hung up",
]


@pytest.mark.parametrize("name", NO_ANSWERS)
def test_what_is_no_answer_is_an_error(name: str, tmp_path: Path) -> None:
    with lying(lies.LIES[name]) as liar:
        file = liar.kubeconfig(tmp_path)
        with open_objects(file, None, 2.0) as objects, pytest.raises(ObjectError):
            objects.replace(ONE, BODY)


def test_pages_go_on_after_their_snapshot_expired(server: ApiServer) -> None:
    def answer(call: Call) -> Reply:
        query = dict(parse_qsl(urlsplit(call.path).query))
        following = query.get("continue")
        if following == "old":
            return Reply({"kind": "Status", "code": 410, "metadata": {"continue": "new"}}, 410)
        metadata = {"continue": "old"} if following is None else {}
        return Reply({"kind": "List", "metadata": metadata, "items": [following]})

    server.answer = answer
    with open_objects(server.kubeconfig(), None, 5.0) as objects:
        pages = [page["items"] for page in objects.list_pages(LIST, {"labelSelector": "a=b"})]
    assert pages == [[None], ["new"]]
    assert all("labelSelector=a%3Db" in call.path for call in server.calls)
    assert all("limit=500" in call.path for call in server.calls)


def test_an_expired_list_that_cannot_go_on_is_an_error(server: ApiServer) -> None:
    server.answer = lambda _: refusal(410, "expired")
    with (
        open_objects(server.kubeconfig(), None, 5.0) as objects,
        pytest.raises(ObjectError, match="expired"),
    ):
        list(objects.list_pages(LIST))


def test_commands_have_the_same_methods(server: ApiServer) -> None:
    server.answer = lambda call: Reply({"kind": call.method})
    with open_objects(server.kubeconfig(), "here", 5.0) as objects:
        kinds = [
            objects.get(ONE)["kind"],
            objects.create(LIST, BODY)["kind"],
            objects.replace(ONE, BODY)["kind"],
            objects.apply(ONE, BODY, "policyd", force=False, dry_run=True)["kind"],
            objects.delete(ONE)["kind"],
            objects.delete_collection(LIST, "a=b")["kind"],
        ]
    assert kinds == ["GET", "POST", "PUT", "PATCH", "DELETE", "DELETE"]
    assert server.calls[3].path.endswith("?fieldManager=policyd&force=false&dryRun=All")
    assert "preconditions" not in server.calls[4].body


def test_a_collection_is_not_deleted_without_a_selector(server: ApiServer) -> None:
    with (
        open_objects(server.kubeconfig(), None, 5.0) as objects,
        pytest.raises(ValueError, match="label selector"),
    ):
        objects.delete_collection(LIST, "")
    assert server.calls == []


def test_a_request_cancelled_while_it_connects_leaves_no_connection(
    server: ApiServer, recwarn: pytest.WarningsRecorder
) -> None:
    """Cancelled after ever longer times, until one is answered."""
    server.answer = lambda _: Reply({"kind": "ConfigMap"})

    async def scenario() -> None:
        for step in range(10_000):
            made = ObjectClient(configuration(server.kubeconfig()), 5.0)
            try:
                async with asyncio.timeout(step * 0.001):
                    await made.get(ONE)
                    return
            except TimeoutError:
                continue
            finally:
                await made.close()

    asyncio.run(scenario())
    gc.collect()
    assert [str(each.message) for each in recwarn] == []


def test_no_watch_waits_for_the_end_of_another(server: ApiServer) -> None:
    """Each followed list has one, and they last for minutes."""
    ended = threading.Event()

    def silent() -> Iterator[bytes]:
        yield b"{}\n"
        ended.wait(60)

    server.answer = lambda _: Reply(silent())

    async def scenario() -> int:
        client = ObjectClient(configuration(server.kubeconfig()), 20.0)
        opened = []
        async with AsyncExitStack() as stack:
            stack.callback(ended.set)
            for number in range(MANY):
                parts = await stack.enter_async_context(client.stream(f"{LIST}{number}", {}))
                opened.append(parts)
                await anext(parts)
        await client.close()
        return len(server.calls)

    assert asyncio.run(scenario()) == MANY
