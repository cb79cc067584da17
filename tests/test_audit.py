"""``make audit`` never reports that nothing is known if nobody was asked; pip-audit is a stub here."""

from pathlib import Path

import pytest

from tools.image import settings
from tools.supply import audit

TABLE = (
    'echo "Name Version ID"; echo "h11 0.1 CVE-1"; echo "Found 1 known vulnerability" >&2; exit 1'
)
CLEAN = 'echo "No known vulnerabilities found" >&2'
SKIPS = 'echo "ERROR: Dependency not found: h11" >&2; exit 1'


@pytest.mark.parametrize(
    ("services", "status", "printed"),
    [
        ((CLEAN, "exit 9"), audit.CLEAN, "No known vulnerabilities found"),
        ((SKIPS, CLEAN), audit.CLEAN, "No known vulnerabilities found"),
        ((TABLE, "exit 9"), audit.VULNERABLE, "CVE-1"),
        ((SKIPS, TABLE), audit.VULNERABLE, "CVE-1"),
        ((SKIPS, "exit 1"), audit.NO_DATABASE, "not audited, because no database of vulnerab"),
    ],
)
def test_a_scan_is_clean_only_if_a_database_answered(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    services: tuple[str, str],
    status: int,
    printed: str,
) -> None:
    pypi, osv = services
    program = tmp_path / "pip-audit"
    cases = f'*"--strict"*"-s pypi"*) {pypi};;\n*"--strict"*) {osv};;'
    program.write_text(f'#!/bin/sh\ncase "$*" in\n{cases}\nesac\n')
    program.chmod(0o755)
    assert audit.scan(program, settings.LOCK) == status
    assert printed in capsys.readouterr().out
