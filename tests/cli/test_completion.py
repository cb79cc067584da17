"""``policyd completion`` in a real bash, and what it completes."""

import os
import shutil
import subprocess

import pytest

from tests.cli.program import program
from tests.cli.within import within
from tests.shared import ROOT


def completed(words: str) -> list[str]:
    """What bash offers for the last of the words."""
    script = f"""
        source <(policyd completion bash)
        COMP_WORDS=({words}) COMP_CWORD=$(( $(wc -w <<< "{words}") - 1 ))
        _policyd_completion policyd
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    environment = {"PATH": f"{program().parent}:{os.environ['PATH']}"}
    bash = shutil.which("bash") or "bash"
    done = subprocess.run(
        [bash, "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


OFFERED = [
    ("policyd ev", ["eval"]),
    ("policyd re", ["review"]),
    ("policyd lint --fo", ["--format"]),
    ("policyd init --form m", ["mutation"]),
    ("policyd lint --disable wildcard,no-bin", ["wildcard,no-binding"]),
    ("policyd explain -p POLICIES --policy baseline-app", ["baseline-app-armor-profile"]),
    ("policyd completion f", ["fish"]),
    ("policyd --ver", ["--version"]),
]


@pytest.mark.parametrize("words, offered", OFFERED)
def test_bash_completes(words: str, offered: list[str]) -> None:
    words = words.replace("POLICIES", str(ROOT / "policies/pod-security"))
    assert set(offered) <= set(completed(words))


@pytest.mark.parametrize("shell, part", [("zsh", "#compdef policyd"), ("fish", "complete ")])
def test_other_shells_have_a_script(shell: str, part: str) -> None:
    assert part in within("completion", shell).stdout
