"""``policyd serve --help``: sections of settings, with their defaults."""

import re
from dataclasses import fields

import pytest

from policyd.config import Settings
from tests.cli.within import within

# Settings of each section: the first and the last.
SECTIONS = {
    "Options": ("config", "help"),
    "Policies": ("policies", "kubernetes-version"),
    "Addresses": ("bind", "admin-token-file"),
    "TLS and clients": ("tls-cert", "client-name"),
    "Tokens of the API server": ("require-api-server-token", "token-issuer"),
    "Requests and connections": ("timeout", "server"),
    "Cluster": ("cluster", "namespace"),
    "Webhook configurations": ("register", "webhook-url"),
    "Managed certificates": ("manage-certificates", "certificate-lifetime"),
    "Events, recordings, traces and logs": ("events", "log-format"),
}


def test_each_section_has_its_settings() -> None:
    shown = within("serve", "--help").stdout
    found = re.findall(r"^(\w[\w ,]+):\n((?:  .*\n)+)", shown, re.M)
    listed = {
        title: re.findall(r"^  (?:-\w, )?--([a-z-]+)", text, re.M)
        for title, text in found
        if title != "Examples"
    }
    assert {title: (names[0], names[-1]) for title, names in listed.items()} == SECTIONS
    names = [each.name.replace("_", "-") for each in fields(Settings)]
    assert [name for title in list(SECTIONS)[1:] for name in listed[title]] == names


DEFAULTS = {
    "--allow-empty / --no-allow-empty": "[POLICYD_ALLOW_EMPTY; default false]",
    "--self-signed / --no-self-signed": "[POLICYD_SELF_SIGNED; default false]",
    "--workers NUMBER": "[POLICYD_WORKERS; default 1]",
    "--certificate-lifetime DURATION": "[POLICYD_CERTIFICATE_LIFETIME; default 2160h]",
    "--tls-cert FILE": "[POLICYD_TLS_CERT]",
}


@pytest.mark.parametrize(("names", "default"), DEFAULTS.items(), ids=DEFAULTS)
def test_a_setting_shows_its_default(names: str, default: str) -> None:
    words = " ".join(within("serve", "--help").stdout.split())
    _, _, text = words.partition(f"{names} ")
    assert re.search(r"\[POLICYD_[^]]+\]", text).group() == default  # type: ignore[union-attr]
