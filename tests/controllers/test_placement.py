"""When a replica leaves a policy to the API server, and when documents are written and deleted."""

from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any

import pytest

from policyd.cluster.objects import ObjectError
from policyd.controllers.placement import placed_policies as following
from policyd.controllers.reconciling import (
    LONGEST_PAUSE_SECONDS,
    PAUSE_SECONDS,
    QUIET_SECONDS,
    SPREAD,
)
from policyd.export.exported_policies import exported
from policyd.placement.document_steps import BINDING_SECONDS, UNSEEN_SECONDS, WIDE_SECONDS
from policyd.policy.compile.rollouts import CompiledRollout
from tests.builders.policies import CONFIG_MAPS, demand, policy, rule
from tests.controllers.placed import API, Placing, refused

CHECK = policy("check", CONFIG_MAPS)
SLOW = policy("check", CONFIG_MAPS, timeoutSeconds=1)
SECRETS = policy("secrets", rule("secrets"), timeoutSeconds=1)
POLICY, BINDING = "validatingadmissionpolicies/check", "validatingadmissionpolicybindings/check"
BOTH = [POLICY, BINDING]
PART = ("check", "validate")
# From the first write of a policy until it is left to the API server.
PLACED = BINDING_SECONDS + UNSEEN_SECONDS + 1


@pytest.fixture
def placing(monkeypatch: pytest.MonkeyPatch) -> Any:
    def made(*policies: Any, **given: Any) -> Any:
        return Placing(monkeypatch, *policies, **given)

    return made


@pytest.fixture(name="server")
def _server(placing: Any) -> Any:
    """One that has placed a policy."""
    made = placing(CHECK)
    made.later(PLACED)
    return made


def test_a_policy_is_evaluated_until_its_documents_have_been_stored_for_long(placing: Any) -> None:
    server = placing(CHECK, SECRETS)
    unknown = server.placed.left_out
    assert unknown is None, "registration waits for what is placed already"
    server.once()
    assert server.documents == [POLICY], "its binding follows"
    server.later(BINDING_SECONDS)
    assert server.documents == BOTH
    server.later(UNSEEN_SECONDS - 1)
    assert server.evaluated == ["check", "secrets"]
    server.later(1.5)
    assert server.evaluated == ["secrets"]
    assert server.placed.left_out is not None
    assert server.placed.left_out[1] == {PART}
    assert [each[3] for each in server.placed.places()] == ["api-server", "webhook"]
    sent = list(server.sent)
    server.later(120)
    assert server.sent == sent
    assert server.writes == {"success": 2, "error": 0, "conflict": 0}


def test_a_controller_that_has_seen_them_shortens_the_wait(placing: Any) -> None:
    server = placing(CHECK)
    server.later(BINDING_SECONDS)
    server.stored.objects[f"{API}/{POLICY}"]["status"] = {"observedGeneration": 1}
    server.later(UNSEEN_SECONDS / 2 + 1)
    assert server.evaluated == []


@pytest.mark.parametrize("path", BOTH)
def test_a_document_that_vanishes_makes_it_evaluate_at_once(server: Any, path: str) -> None:
    assert server.evaluated == []
    gone = server.stored.objects.pop(f"{API}/{path}")
    server.placed.document_changed((gone["kind"], "check"))
    assert server.evaluated == ["check"], "without another look"
    server.later(BINDING_SECONDS)
    assert server.documents == BOTH, "the writer restores it"
    assert server.evaluated == ["check"]
    server.later(PLACED)
    assert server.evaluated == []


def test_an_edit_makes_it_evaluate_at_once(server: Any) -> None:
    found = server.stored.objects[f"{API}/{POLICY}"]
    server.stored.objects[f"{API}/{POLICY}"] = {
        **found,
        "metadata": {**found["metadata"], "resourceVersion": "99"},
        "spec": {**found["spec"], "failurePolicy": "Ignore"},
    }
    server.placed.document_changed((found["kind"], "other"))
    assert server.evaluated == [], "another document says nothing"
    server.placed.document_changed((found["kind"], "check"))
    assert server.evaluated == ["check"]
    server.once()
    assert server.stored.objects[f"{API}/{POLICY}"]["spec"] == found["spec"]


def test_a_replica_that_starts_knows_what_has_been_placed_for_long(
    placing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = placing(CHECK)
    former.later(PLACED)
    server = placing(CHECK)
    server.stored, server.now = former.stored, former.now
    server.written, server.holds = former.written, False
    server.once()
    assert server.evaluated == []
    assert server.placed.left_out[1] == {PART}
    server = placing(CHECK)
    server.stored, server.written, server.holds = former.stored, server.now - 1, False
    server.once()
    assert server.evaluated == ["check"], "it was written a moment ago"


def test_documents_go_only_after_the_webhook_has_the_rules(server: Any) -> None:
    server.use(SLOW)
    assert server.evaluated == ["check"], "the source changed"
    server.later(WIDE_SECONDS - 1)
    assert server.documents == BOTH
    server.later(1.5)
    assert server.documents == []
    assert server.sent[-2:] == [f"DELETE {BINDING}", f"DELETE {POLICY}"]


def test_an_unchanged_policy_stays_placed_over_a_reload(server: Any) -> None:
    sent = list(server.sent)
    server.use(CHECK, SECRETS)
    server.once()
    assert server.evaluated == ["secrets"]
    assert server.placed.left_out[1] == {PART}
    server.later(30)
    assert server.sent == sent


def test_a_change_of_policy_and_binding_goes_by_the_webhook(server: Any) -> None:
    before = len(server.sent)
    server.use(policy("check", CONFIG_MAPS, validations=[demand("true", "no")]))
    server.once()
    assert server.sent[before:] == [f"APPLY {POLICY}"], "the binding has not changed"
    server.later(PLACED)
    before = len(server.sent)
    server.use(
        policy("check", CONFIG_MAPS, validations=[demand("true", "x")], validationActions=["Warn"])
    )
    server.later(PLACED + WIDE_SECONDS)
    assert server.sent[before:] == [f"DELETE {BINDING}", f"APPLY {POLICY}", f"APPLY {BINDING}"]
    assert server.evaluated == ["check"]


def test_never_takes_back_and_only_the_holder_writes(placing: Any) -> None:
    server = placing(CHECK)
    server.later(PLACED)
    last = placing(CHECK, mode="never")
    last.stored.objects, last.now, last.holds = server.stored.objects, server.now, False
    last.later(WIDE_SECONDS + 1)
    assert last.evaluated == ["check"]
    assert last.documents == BOTH
    last.holds = True
    last.later(WIDE_SECONDS + 1)
    assert last.documents == []


def test_documents_of_a_policy_with_errors_stay(placing: Any) -> None:
    server = placing(CHECK, SECRETS)
    server.later(PLACED)
    server.use(policy("check", CONFIG_MAPS, validations=[{"expression": "("}]), SECRETS)
    assert server.policies.quarantined
    server.later(60)
    assert server.documents == BOTH
    assert "check" in server.evaluated


def test_only_writes_nothing_if_something_cannot_be_placed(placing: Any) -> None:
    server = placing(CHECK, SECRETS, mode="only")
    server.later(20)
    assert server.documents == []
    assert server.writer.problem.startswith(
        "nothing is changed, because --in-tree is only: Policy secrets (validate): "
        "spec.timeoutSeconds"
    )
    server.use(CHECK)
    server.later(PLACED)
    assert (server.documents, server.writer.problem) == (BOTH, "")


def test_what_the_api_server_refuses_runs_by_the_webhook(placing: Any) -> None:
    server = placing(CHECK)
    server.stored.refuse["APPLY"] = refused(HTTPStatus.UNPROCESSABLE_ENTITY, "too costly")
    server.later(20)
    assert server.sent == [f"APPLY {POLICY}"], "once"
    [found] = server.placed.places()
    assert found[3] == "webhook"
    assert "the API server refuses it: too costly" in found[4]
    assert server.writer.problem == ""
    server.stored.refuse.clear()
    server.use(CHECK, SECRETS)
    server.later(PLACED)
    assert server.evaluated == ["secrets"], "other policies, another attempt"


def test_a_missing_right_is_named_and_tried_again(placing: Any) -> None:
    server = placing(CHECK)
    message = 'x "check" is forbidden: User "u" cannot patch resource "x"'
    server.stored.refuse["APPLY"] = refused(HTTPStatus.FORBIDDEN, message)
    server.once()
    assert 'a permission is missing: User "u" cannot patch resource' in server.writer.problem
    assert server.writes["error"] == 1
    server.stored.refuse.clear()
    server.later(PLACED + PAUSE_SECONDS * SPREAD[1])
    assert (server.evaluated, server.writer.problem) == ([], "")


def test_documents_are_deleted_with_the_namespace_of_policyd(placing: Any) -> None:
    server = placing(CHECK)
    server.namespace = ObjectError("no answer", 503)
    server.once()
    assert server.stored.objects == {}, "a document without its owner would stay for ever"
    assert server.writer.problem == "cannot read the namespace of policyd: no answer"
    server.namespace = {"metadata": {"name": "policyd", "uid": "u1"}}
    server.later(PLACED)
    assert not server.writer.problem
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": "policyd", "uid": "u1"}
    for each in server.stored.objects.values():
        assert each["metadata"]["ownerReferences"] == [owner]
    assert server.evaluated == [], "followers need not know the owner"


def test_without_the_list_of_documents_everything_is_evaluated(server: Any) -> None:
    server.watched.usable, server.watched.problem = False, "forbidden"
    server.placed.changed()
    server.once()
    assert server.evaluated == ["check"]
    assert server.writer.problem == "cannot follow the policies of the cluster: forbidden"
    assert server.placed.left_out[1] == frozenset()


def test_a_policy_is_placed_when_its_rollout_is_over(
    placing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = datetime(2027, 3, 1, tzinfo=UTC)
    clock = [until - timedelta(seconds=1)]
    monkeypatch.setattr(CompiledRollout, "over", property(lambda self: clock[0] >= self.until))
    monkeypatch.setattr(following, "exported", partial(exported, now=lambda: clock[0]))
    server = placing(policy("check", CONFIG_MAPS, rollout={"until": "2027-03-01T00:00:00Z"}))
    server.later(PLACED)
    assert (server.evaluated, server.documents) == (["check"], [])
    (place,) = server.placed.places()
    assert place[3] == "webhook" and "it is not over" in place[4]
    clock[0] = until
    server.later(PLACED + following.LONGEST_PAUSE)
    assert (server.evaluated, server.documents) == ([], BOTH)


def test_a_document_that_somebody_changes_all_the_time_is_left_to_the_webhook(server: Any) -> None:
    before = len(server.sent)
    at = f"{API}/{POLICY}"
    for _ in range(60):
        found = server.stored.objects[at]
        spec = {**found["spec"], "failurePolicy": "Ignore"}
        server.stored.objects[at] = {**found, "spec": spec}
        server.placed.document_changed((found["kind"], "check"))
        server.now += 5
        server.once()
        assert server.evaluated == ["check"]
    assert 5 < len(server.sent) - before < 20
    assert server.writes["conflict"] == len(server.sent) - before
    assert "changed (spec.failurePolicy) each time it is written" in server.writer.problem
    server.now += LONGEST_PAUSE_SECONDS * SPREAD[1]
    server.once()
    server.now += QUIET_SECONDS
    server.later(1)
    assert (server.evaluated, server.documents, server.writer.problem) == ([], BOTH, "")
