"""``policyd version``: what this policyd is, for bug reports and CI. Looks at no cluster."""

import json
import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import click

import policyd
from policyd._core.system.libc import CYTHON
from policyd.cli.shared.output import echo_json, format_option
from policyd.json_types import JSONObject
from policyd.versions import NEWEST, SPAN, SUPPORTED

# The distributions of each extra of pyproject.toml that users install.
EXTRAS = {
    "cluster": ("lightkube", "httpx2", "msgspec"),
    "otel": ("opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http", "requests"),
    "tokens": ("pyjwt",),
}
_SECONDS = 10.0  # for git
_EPILOG = """\b
Examples:
  policyd version
  policyd version --json | jq -r .commit

\b
In JSON:
  version     of policyd
  commit      the commit of its source: of a checkout (with -dirty if files
              differ), or of what pip installed from git; otherwise null
  python      the version of Python
  cython      the version of Cython that compiled the core
  kubernetes  default and supported: the versions of Kubernetes
  extras      whether the packages of each extra are installed

Exit status: 0.
"""


@click.command("version", epilog=_EPILOG)
@format_option("text", "json")
@click.option("--json", "form", flag_value="json", help="Print JSON: the same as --format json.")
def command(*, form: str) -> None:
    """Print the versions of policyd and of what it runs on, and what is installed with it."""
    root = Path(policyd.__file__).resolve().parents[1]
    commit = _of_checkout(root) if (root / ".git").exists() else _of_installation()
    extras = {
        name: all(any(metadata.distributions(name=each)) for each in needed)
        for name, needed in EXTRAS.items()
    }
    found: JSONObject = {
        "version": policyd.__version__,
        "commit": commit or None,
        "python": platform.python_version(),
        "cython": CYTHON,
        "kubernetes": {"default": f"{NEWEST}", "supported": [f"{each}" for each in SUPPORTED]},
        "extras": extras,
    }
    if form == "json":
        echo_json(found)
        return
    click.echo(f"policyd {policyd.__version__}" + (f" (commit {commit})" if commit else ""))
    click.echo(f"Python {found['python']}, core compiled by Cython {CYTHON}")
    click.echo(f"Kubernetes {SPAN}, by default {NEWEST}")
    click.echo(f"extras: {', '.join(name for name in extras if extras[name]) or 'none'}")


def _of_checkout(root: Path) -> str:
    """Return the commit of the source; empty if it is not known."""
    git = shutil.which("git")
    if git is None:
        return ""
    describe = ("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    command = [git, "--no-optional-locks", *describe]
    # In a hook of git, its variables name the repository of the hook.
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=others,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _of_installation() -> str:
    """Return the commit that pip noted (PEP 610), if it installed policyd from git."""
    try:
        text = metadata.distribution("policyd").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # the source is run without being installed
        return ""
    origin = json.loads(text or "{}")
    return str(origin.get("vcs_info", {}).get("commit_id", ""))
