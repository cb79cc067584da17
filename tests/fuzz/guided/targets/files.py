"""Files of settings: the config file of ``serve``, a project's policyd.yaml, a kubeconfig. All are YAML;
each is read, or refused with one of policyd's errors.
"""

import tempfile
from functools import cache
from pathlib import Path

import click
import yaml

from policyd import cli
from policyd.cli.shared.project import defaults
from policyd.cluster.kubeconfig import configuration
from policyd.config import resolve
from policyd.errors import ConfigError, PolicySchemaError
from policyd.policy.source.loader import read_one
from tests.builders import commands
from tests.fuzz.guided import mutating
from tests.fuzz.guided.target import FuzzTarget

WORDS = (
    "policies",
    "timeout",
    "maxInFlight",
    "bind",
    "tlsCert",
    "clientCa",
    "kubernetesVersion",
    "logFormat",
    "5s",
    "lint",
    "test",
    "webhooks",
    "render",
    "color",
    "always",
    "clusters",
    "users",
    "contexts",
    "current-context",
    "server",
    "certificate-authority-data",
    "token",
    "exec",
    "client-certificate-data",
    "name",
    "user",
    "namespace",
    "apiVersion",
    "kind",
    "Config",
    "https://127.0.0.1:1",
    "extensions",
    "insecure-skip-tls-verify",
    "true",
)
KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "c",
    "clusters": [
        {
            "name": "k",
            "cluster": {"server": "https://127.0.0.1:1", "insecure-skip-tls-verify": True},
        }
    ],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
}
SETTINGS = {
    "policies": ["p"],
    "bind": "127.0.0.1:8443",
    "timeout": "5s",
    "maxInFlight": 10,
    "max-body-bytes": "1Mi",
}
PROJECT = {
    "policies": "p",
    "color": "never",
    "lint": {"disable": ["wildcard"]},
    "webhooks": {"render": {"name": "x"}},
}


@cache
def file() -> Path:
    """A file of this process."""
    return Path(tempfile.mkdtemp(prefix="policyd-fuzz-"), "file.yaml")


def check(data: bytes) -> None:
    settings(data)
    file().write_bytes(data)
    try:
        configuration(file())
    except ConfigError as error:
        assert str(error)
    project()


def settings(data: bytes) -> None:
    try:
        document = read_one(data)
    except PolicySchemaError as error:
        assert error.problems
        return
    if isinstance(document, dict):
        try:
            found = resolve({}, {}, document, "file.yaml")
        except ConfigError as error:
            assert str(error)
        else:
            assert found == resolve({}, {}, document, "file.yaml"), "not the same twice"


def project() -> None:
    for names, command in _commands():
        try:
            defaults(file(), command, names, cli.policyd)
        except (ConfigError, PolicySchemaError) as error:
            assert str(error)


@cache
def _commands() -> tuple[tuple[list[str], click.Command], ...]:
    wanted = ("lint", "test", "webhooks render")
    return tuple(
        (path.split(), context.command) for path, context in commands.every() if path in wanted
    )


def seeds() -> list[bytes]:
    return [yaml.safe_dump(each).encode() for each in (KUBECONFIG, SETTINGS, PROJECT)]


TARGET = FuzzTarget(check, seeds, mutating.yaml_mutation(WORDS))
