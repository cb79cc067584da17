"""Whatever takes long, the answer comes before the ``?timeout=`` of its request, names the policy that
was not evaluated in time, and follows its failurePolicy.
"""

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import NamedTuple

import pytest

from policyd.json_types import JSON, JSONObject
from tests.builders.reviews import body
from tests.cluster.lies import hang, lying
from tests.faults.asking import Asked, Stopwatch, ask
from tests.sampling import paired, sampled
from tests.server.announcing import head, whole
from tests.server.process import Process, until
from tests.server.serve import serving, write_policy

# Some 4 ms or more, and not far from the cost limit of an expression, for a list of 280.
LONG = "object.data.list.all(i, object.data.list.all(j, i + j != 'xy'))"
LIST = ["x" * 10] * 280
COPIES = 200  # policies that do the same, together a multiple of the timeout
WAITING = 20  # policies that wait for the same, beside each other
TIMES = 6  # expressions in each of them; conditions have a third of their budget
TIMEOUT = 0.6
LAST = f"p{COPIES - 1}"


def reviewed(**data: JSON) -> bytes:
    """The review of an object with the long list, whose kind says nothing about its fields."""
    held: JSONObject = {"list": LIST, **data}
    kind: JSONObject = {"group": "acme.dev", "version": "v1", "kind": "Widget"}
    return body(kind=kind, object={"apiVersion": "acme.dev/v1", "kind": "Widget", "data": held})


def spec(**fields: JSON) -> str:
    """The rest of a policy's spec as YAML."""
    return "\n  ".join(f"{name}: {json.dumps(value)}" for name, value in fields.items())


def patching(expression: str) -> JSONObject:
    """A mutation."""
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


class Phase(NamedTuple):
    """What takes long, as the spec of a policy."""

    spec: str
    path: str = "/validate"


LONG_PATCH = LONG + " ? [JSONPatch{op: 'add', path: '/data/x', value: 'y'}] : []"
VALIDATIONS = spec(validations=[{"expression": LONG}] * TIMES)
CONDITIONS: list[JSON] = [
    {"name": f"c{number}", "expression": LONG} for number in range(TIMES // 3)
]
PHASES = {
    "validations": Phase(VALIDATIONS),
    "match conditions": Phase(
        spec(matchConditions=CONDITIONS, validations=[{"expression": "true"}])
    ),
    "variables": Phase(
        spec(
            variables=[{"name": f"v{number}", "expression": LONG} for number in range(TIMES)],
            validations=[{"expression": f"variables.v{number}"} for number in range(TIMES)],
        )
    ),
    "mutations": Phase(spec(mutations=[patching(LONG_PATCH)] * TIMES), "/mutate"),
    "match conditions of mutations": Phase(
        spec(
            matchConditions=CONDITIONS,
            mutations=[patching("[JSONPatch{op: 'add', path: '/data/x', value: 'y'}]")],
        ),
        "/mutate",
    ),
}
FAILURES = ["Fail", "Ignore"]


@contextmanager
def policies(
    folder: Path, slow: str, failure: str, *flags: str, copies: int = COPIES
) -> Iterator[Process]:
    """A server of some policies that do the same, but not so that one could do it for all."""
    for number in range(copies):
        own = slow.replace("'xy'", f"'{number}'")
        write_policy(folder / "policies", f"p{number:03}", own, failure)
    with serving(folder, folder / "policies", *flags) as server:
        yield server


def holds(server: Process, asked: Asked, failure: str, timeout: float = TIMEOUT) -> None:
    """The answer came in time, the failurePolicy decided, and the policies are named."""
    assert asked.took < timeout
    print(f"{timeout - asked.took:.3f} s before the timeout of {timeout} s")
    assert asked.response["allowed"] is (failure == "Ignore")
    if failure == "Fail":
        assert "' denied request: deadline exceeded" in asked.message
    late = until(lambda: late_until_the_last(server), "the error of the last policy in the log")
    assert {each["effect"] for each in late} == {"denied" if failure == "Fail" else "admitted"}
    timeouts = f'policyd_policy_decisions_total{{decision="timeout",policy="{LAST}"}}'
    assert server.metric(timeouts) >= 1


def late_until_the_last(server: Process) -> list[JSONObject]:
    """The lines of the log about policies that were late, once it has that of the last policy."""
    lines = server.lines("error")
    late = [each for each in lines if each["message"].startswith("deadline exceeded")]
    return late if LAST in {each["policy"] for each in late} else []


@pytest.mark.parametrize(("phase", "failure"), paired(list(PHASES), FAILURES))
def test_expensive_expressions_end_at_the_deadline(
    tmp_path: Path, phase: str, failure: str
) -> None:
    slow, path = PHASES[phase]
    with policies(tmp_path, slow, failure) as server:
        asked = ask(server, f"{path}?timeout={TIMEOUT}s", reviewed())
        holds(server, asked, failure)


def answer_on(sock: socket.socket) -> tuple[int, bool]:
    """The status of the answer, and whether it allows."""
    answer = HTTPResponse(sock)
    answer.begin()
    return answer.status, json.loads(answer.read())["response"]["allowed"]


def test_an_expensive_review_leaves_time_to_those_read_with_it(tmp_path: Path) -> None:
    """While one is evaluated, an expensive one and cheap ones arrive: none of the cheap ones fails."""
    listed = json.dumps([{"name": "listed", "expression": "'list' in object.data"}])
    with policies(tmp_path, f"matchConditions: {listed}\n  {VALIDATIONS}", "Fail") as server:
        path = "/validate?timeout=2s"
        for _ in range(5):  # the pace is known
            ask(server, path, body())
        with ExitStack() as stack:
            socks = [stack.enter_context(server.secure_socket()) for _ in range(6)]
            for number, sock in enumerate(socks):
                sock.sendall(whole(path, reviewed() if number < 2 else body()))
            answers = [answer_on(sock) for sock in socks]
    assert answers == [(200, False)] * 2 + [(200, True)] * 4


@pytest.mark.parametrize("failure", sampled(FAILURES))
def test_a_large_object_takes_its_part_of_the_time(tmp_path: Path, failure: str) -> None:
    """Receiving and decoding count, too."""
    with policies(tmp_path, VALIDATIONS, failure) as server:
        large = reviewed(filler=["abcdefghijkl"] * 400_000)
        holds(server, ask(server, "/validate?timeout=2s", large), failure, 2.0)


LIMITS: JSONObject = {"name": "limits", "parameterNotFoundAction": "Deny"}
LOOKUPS = {
    "authorizer": spec(
        validations=[
            {"expression": "authorizer.group('').resource('secrets').check('get').allowed()"}
        ]
    ),
    "namespace": spec(validations=[{"expression": "namespaceObject.metadata.name != ''"}]),
    "param": spec(
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        paramRef=LIMITS,
        validations=[{"expression": "params.data.size() > 0"}],
    ),
}


@pytest.mark.usefixtures("http_server")
@pytest.mark.parametrize(("lookup", "failure"), paired(list(LOOKUPS), FAILURES))
def test_lookups_without_an_answer_end_at_the_deadline(
    tmp_path: Path, lookup: str, failure: str
) -> None:
    with lying(hang) as cluster:
        flags = ["--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--kubernetes-version", "1.37"]
        with policies(tmp_path, LOOKUPS[lookup], failure, *flags, copies=WAITING) as server:
            asked = ask(server, f"/validate?timeout={TIMEOUT}s", body())
            lines = until(lambda: all_of_them(server), "an error for each policy")
    assert asked.took < TIMEOUT
    assert asked.response["allowed"] is (failure == "Ignore")
    assert {each["effect"] for each in lines} == {"denied" if failure == "Fail" else "admitted"}


def all_of_them(server: Process) -> list[JSONObject]:
    """The errors in the log, if there is one for each policy."""
    lines = server.lines("error")
    named = {each["policy"] for each in lines}
    return lines if named == {f"p{number:03}" for number in range(WAITING)} else []


@pytest.mark.parametrize("failure", sampled(FAILURES))
def test_a_huge_patch_ends_at_the_deadline(tmp_path: Path, failure: str) -> None:
    """Every mutation copies, compares and decodes megabytes again."""
    grow = (
        LONG + " ? [JSONPatch{op: 'replace', path: '/data/filler',"
        " value: object.data.filler.map(f, f + 'x')}] : []"
    )
    with policies(tmp_path, spec(mutations=[patching(grow)] * TIMES), failure) as server:
        asked = ask(server, "/mutate?timeout=2s", reviewed(filler=["abcdefghijkl"] * 4_000))
        holds(server, asked, failure, 2.0)


@pytest.mark.parametrize("failure", sampled(FAILURES))
def test_a_full_queue_is_answered_in_time(tmp_path: Path, failure: str) -> None:
    """Twenty requests of a fifth of the timeout each: who cannot be evaluated is refused at once."""
    for number in range(12):
        write_policy(tmp_path / "policies", f"p{number}", VALIDATIONS, failure)
    path = f"/validate?timeout={TIMEOUT}s"
    with serving(tmp_path, tmp_path / "policies") as server, ThreadPoolExecutor(20) as pool:
        ask(server, path, reviewed())  # the pace is known
        answers = list(pool.map(lambda _: ask(server, path, reviewed()), range(20)))
        assert max(each.took for each in answers) < 2 * TIMEOUT  # with the clients' own time
        assert {each.status for each in answers} == {200, 503}
        late = [each for each in answers if each.status == 200 and "deadline" in each.message]
        assert all(each.response["allowed"] is (failure == "Ignore") for each in late)


@pytest.mark.usefixtures("http_server")
def test_a_stalled_body_is_answered_in_time(tmp_path: Path) -> None:
    """No policy can be named, because the request is not known: the webhook's failurePolicy."""
    write_policy(tmp_path / "policies", "p", "validations: [{expression: 'true'}]")
    with serving(tmp_path, tmp_path / "policies") as server, server.secure_socket() as sock:
        watch = Stopwatch(server)
        sock.sendall(head(f"/validate?timeout={TIMEOUT}s", 100) + b"{")
        assert sock.recv(65536).startswith(b"HTTP/1.1 408")
        assert watch.took() < TIMEOUT


@pytest.mark.usefixtures("http_server")
@pytest.mark.own_server("does not count answers that nobody reads")
def test_a_slow_reader_delays_nobody(tmp_path: Path) -> None:
    """Clients that take nothing hold no turn: others are answered in time."""
    grow = "[JSONPatch{op: 'replace', path: '/data/filler', value: object.data.filler.map(f, f + 'x')}]"
    write_policy(tmp_path / "policies", "p", spec(mutations=[patching(grow)]))
    large = reviewed(filler=["abcdefghijkl"] * 10_000)
    with serving(tmp_path, tmp_path / "policies") as server, ExitStack() as stack:
        slow = [stack.enter_context(server.narrow_socket()) for _ in range(8)]
        for sock in slow:
            sock.sendall(whole("/mutate?timeout=10s", large))
        until(lambda: server.metric("policyd_in_flight_bytes") > 8 * 700_000, "the answers")
        for _ in range(5):
            asked = ask(server, f"/validate?timeout={TIMEOUT}s", body())
            assert asked.response["allowed"] and asked.took < TIMEOUT


def test_a_reload_delays_nobody(tmp_path: Path) -> None:
    """Hundreds of policies are compiled beside requests, which are answered in time."""
    folder = tmp_path / "policies"

    def write(version: int) -> None:
        never: JSON = [{"name": "never", "expression": "object.metadata.name == 'never'"}]
        for number in range(300):
            seen: JSON = [{"expression": f"object.data.v{version} != '{number}'"}]
            write_policy(folder, f"p{number}", spec(matchConditions=never, validations=seen))

    write(0)
    with serving(tmp_path, folder) as server:
        done: list[Asked] = []
        stop = threading.Event()

        def stream() -> None:
            while not stop.is_set():
                done.append(ask(server, f"/validate?timeout={TIMEOUT}s", body()))

        thread = threading.Thread(target=stream)
        thread.start()
        for version in (1, 2):
            before = len(server.lines("reload"))
            write(version)
            until(lambda: len(server.lines("reload")) > before, "the reload")  # noqa: B023
        stop.set()
        thread.join()
        assert len(done) > 3
        assert all(each.response["allowed"] and each.took < TIMEOUT for each in done)
