"""How often ``policyd webhooks watch`` repairs what somebody changes again and again."""

import pytest

from policyd.cli.shared.kubeconfig import Kubeconfig
from policyd.cli.webhooks import watch
from policyd.cli.webhooks.options import WebhookOptions
from policyd.webhooks.rendering.options import RenderOptions


def test_what_is_changed_all_the_time_is_repaired_ever_less_often(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1000.0]
    monkeypatch.setattr(watch, "monotonic", lambda: now[0])
    made = watch._Watch(WebhookOptions((), RenderOptions(), None, Kubeconfig(None, None)), False)
    rests = []
    for _ in range(12):
        made._note_repair(1)
        rests.append(made.rest)
        now[0] += made.rest
    assert rests == [1, 1, 1, 1, 1, 2, 4, 8, 16, 30, 30, 30]
    assert "somebody changes what this command writes; the next repair is in 30 s" in (
        capsys.readouterr().err
    )
    made._note_repair(0)
    assert made.rest == 0, "nothing was changed"
    now[0] += watch.QUIET + 1
    made._note_repair(1)
    assert made.rest == 1
