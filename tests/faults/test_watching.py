"""No inotify on the node: changes are noticed all the same, and what is missing is said."""

import subprocess
from pathlib import Path

import pytest

from tests.builders.reviews import body
from tests.faults.asking import ask
from tests.server.process import Process, until
from tests.server.serve import DENY, command, write_policy

# These limits hold for a user namespace: nothing of the machine is changed.
LIMITS = {"instances": "max_inotify_instances", "watches": "max_inotify_watches"}


def limited(name: str, most: int) -> list[str]:
    """A prefix that runs a command where inotify has no more than this."""
    script = f'echo {most} > /proc/sys/user/{LIMITS[name]} && exec "$@"'
    return ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"]


def can_be_limited() -> bool:
    try:
        done = subprocess.run([*limited("instances", 0), "true"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not can_be_limited(), reason="needs a user namespace with limits of its own")
@pytest.mark.parametrize("limit", LIMITS)
def test_without_inotify_changes_are_found_by_looking(tmp_path: Path, limit: str) -> None:
    """fs.inotify.max_user_instances or max_user_watches of the node is used up by others."""
    policies = write_policy(tmp_path / "policies", "p", DENY).parent
    with Process([*limited(limit, 0), *command(policies)], tmp_path / "server.log") as server:
        said = until(
            lambda: [each for each in server.lines("watch") if each["watch"] == "policies"],
            "what the log says",
        )
        assert said[0]["level"] == "warning"
        assert "checking for changes every 5 s" in said[0]["message"]
        write_policy(policies, "p", DENY.replace("TEXT", "more"))
        held = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"forbidden": "x"}}
        until(
            lambda: "no more" in ask(server, "/validate", body(object=held)).message, "the change"
        )
        assert server.metric('policyd_watch_healthy{watch="policies"}') == 1
        assert server.get("/readyz") == (200, "ok")
        assert len(server.lines("watch")) <= 2  # one for each watch, not one a check
