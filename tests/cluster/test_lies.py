"""A lie of an API server is a Failure, in time and within bounds, whatever was asked."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from policyd._core.lib.authorization import Attributes, Failure
from policyd.admission.lookups.params import KindOf, ParamsOf
from policyd.cluster import bounds, cache, client, connect
from policyd.cluster.client import ClusterClient
from policyd.cluster.definitions import ClusterDefinitions
from policyd.cluster.kubeconfig import configuration
from policyd.policy.kinds.wanted_definitions import EVERY, WantedDefinition
from tests.cluster import lies
from tests.cluster.lies import LIES, MEGABYTE, lying, once, whole
from tests.sampling import sampled
from tests.server.process import PATIENCE

SECONDS = 0.4  # for a question in these tests
MAY = Attributes("bob", "get", resource="pods")
ONE = ParamsOf("v1", "ConfigMap", "shop", "p")
MANY = ParamsOf("v1", "ConfigMap", "shop", "", "a=b")
NAMESPACE = whole(b'{"kind": "Namespace", "metadata": {"name": "shop"}}')
Ask = Callable[[ClusterClient], Awaitable[object]]
QUESTIONS: dict[str, Ask] = {
    "authorizer": lambda asked: asked.may(MAY),
    "namespace": lambda asked: asked.namespace("shop"),
    "kind": lambda asked: asked.kind(KindOf("x.io/v1", "Thing")),
    "param": lambda asked: asked.params(ONE),
    "params": lambda asked: asked.params(MANY),
}


def asking(kubeconfig: Path, steps: Ask, seconds: float = 60.0) -> Any:
    """What these steps find with a client of their own."""

    async def scenario() -> object:
        asked = connect(kubeconfig, seconds)
        try:
            return await asyncio.wait_for(steps(asked), PATIENCE)
        finally:
            await asked.close()

    return asyncio.run(scenario())


async def all_of_it(asked: ClusterClient) -> dict[str, object]:
    answers = await asyncio.gather(*(ask(asked) for ask in QUESTIONS.values()))
    return dict(zip(QUESTIONS, answers, strict=True))


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_a_failure_in_time(tmp_path: Path, name: str) -> None:
    with lying(LIES[name]) as liar:
        found = asking(liar.kubeconfig(tmp_path), all_of_it, SECONDS)
    assert {what for what, answer in found.items() if not isinstance(answer, Failure)} == set()
    for answer in found.values():
        assert isinstance(answer, Failure)
        assert len(answer.why) < 1000


@pytest.mark.parametrize("name", sampled(LIES))
def test_a_lie_about_definitions_is_a_problem_in_time(tmp_path: Path, name: str) -> None:
    with lying(LIES[name]) as liar:
        config = configuration(liar.kubeconfig(tmp_path))
        with closing(ClusterDefinitions(config, SECONDS, lambda *_: None)) as found:
            for wanted in (WantedDefinition("x.io", "things"), WantedDefinition("x.io", EVERY)):
                started = time.monotonic()
                assert found.fetch(frozenset([wanted])) == []
                assert found.problem
                assert not found.changed()
                assert time.monotonic() - started < PATIENCE


def test_an_answer_is_read_no_further_than_its_bound(tmp_path: Path) -> None:
    with lying(lies.endless) as liar:
        found = asking(liar.kubeconfig(tmp_path), all_of_it, 30.0)
        answers = len(QUESTIONS)
        # What the system buffers between the two is sent, too.
        assert liar.sent < answers * (bounds.MAX_ANSWER_BYTES + 16 * MEGABYTE)
    for answer in found.values():
        assert isinstance(answer, Failure)
        assert "larger than" in answer.why


def test_pages_without_an_end_are_read_no_further_than_their_bound(tmp_path: Path) -> None:
    big = b'{"data": {"a": "%s"}, "metadata": {"name": "p"}}' % (b"x" * MEGABYTE)
    page = b'{"kind": "List", "metadata": {"continue": "x"}, "items": [%s]}' % big
    with lying(once(whole(page))) as liar:
        found = asking(liar.kubeconfig(tmp_path), QUESTIONS["params"])
        assert isinstance(found, Failure)
        assert "larger than" in found.why
        assert liar.asked <= bounds.MAX_LIST_BYTES // MEGABYTE + 1


def test_a_retry_after_holds_nobody_who_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LONGEST_PAUSE", 0.1)
    with lying(lies.later("999999999")) as liar:

        async def steps(asked: ClusterClient) -> None:
            assert isinstance(await asked.namespace("shop"), Failure)
            liar.lie = once(NAMESPACE)
            assert not isinstance(await asked.namespace("shop"), Failure)

        asking(liar.kubeconfig(tmp_path), steps)


def test_who_comes_later_does_not_join_an_answer_that_does_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PATIENCE_SECONDS", 0.1)
    with lying(lies.hang) as liar:

        async def steps(asked: ClusterClient) -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asked.namespace("shop"), 0.5)
            liar.lie = once(NAMESPACE)
            assert not isinstance(await asked.namespace("shop"), Failure)

        asking(liar.kubeconfig(tmp_path), steps)


def test_questions_to_an_authorizer_that_hangs_stall_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CONNECTIONS", 4)
    with lying(lies.by_path(b"subjectaccessreviews", lies.hang, once(NAMESPACE))) as liar:

        async def steps(asked: ClusterClient) -> None:
            hanging = [
                asyncio.ensure_future(asked.may(MAY._replace(user=str(number))))
                for number in range(20)
            ]
            while liar.asked < 4:
                await asyncio.sleep(0.001)
            assert not isinstance(await asked.namespace("shop"), Failure)
            assert liar.asked == 5  # no more than four to the authorizer at a time
            for task in hanging:
                task.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)

        asking(liar.kubeconfig(tmp_path), steps)


def test_one_definition_that_hangs_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    crd = (
        b'{"kind": "CustomResourceDefinition", "metadata": {"name": "b.x.io", "uid": "1"},'
        b' "spec": {"group": "x.io", "names": {"plural": "b"}, "versions": []}}'
    )
    told: list[bool] = []
    with lying(lies.by_path(b"/a.x.io", lies.hang, once(whole(crd)))) as liar:
        config = configuration(liar.kubeconfig(tmp_path))
        with closing(
            ClusterDefinitions(config, SECONDS, lambda answered, _: told.append(answered))
        ) as found:
            got = found.fetch(
                frozenset([WantedDefinition("x.io", "a"), WantedDefinition("x.io", "b")])
            )
            assert [each["metadata"]["name"] for each in got] == ["b.x.io"]
            assert sorted(told) == [False, True]
            assert found.problem
