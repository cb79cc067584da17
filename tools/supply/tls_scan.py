"""Grade the TLS of a real server with sslyze, against Mozilla's configuration "intermediate".

    make tls-scan                                     without and with deploy/openssl.cnf
    python -m tools.supply.tls_scan --install         only install sslyze, for the test

The server has a certificate as policyd issues it (``--manage-certificates``). The admin port must
not speak TLS at all. The exit status is 1 if anything is worse than it should be.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policyd.tls.issuing import new_authority, new_leaf
from tools.supply.environments import ROOT, installed

OPENSSL_CONFIGURATION = ROOT / "deploy" / "openssl.cnf"
# Curves that OpenSSL offers unless it is configured, and Mozilla does not list: neither is weak.
UNLISTED_CURVES = {"X448", "secp521r1"}
_POLICY = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: scanned}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations: [{expression: "true"}]
"""
_STARTED = 60.0


@dataclass(frozen=True, slots=True)
class Grade:
    """What a scan found."""

    versions: tuple[str, ...]
    ciphers: tuple[str, ...]
    curves: tuple[str, ...]
    problems: tuple[str, ...]  # what is worse than Mozilla's "intermediate", or vulnerable


def main() -> None:
    """Scan both configurations and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.supply.tls_scan")
    parser.add_argument("--install", action="store_true", help="only install sslyze")
    scanner = installed("sslyze")
    if parser.parse_args().install:
        return
    failed = False
    for configuration in (None, OPENSSL_CONFIGURATION):
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), configuration) as ports:
            grade = scan(scanner, Path(folder), ports[0])
            plain = not speaks_tls(scanner, Path(folder), ports[1])
        print(f"OPENSSL_CONF={configuration or ''}")
        for name in ("versions", "ciphers", "curves", "problems"):
            print(f"  {name}: {', '.join(getattr(grade, name)) or 'none'}")
        print(f"  admin port: {'plain HTTP only' if plain else 'answers TLS'}")
        allowed = {curve_problem(UNLISTED_CURVES)} if configuration is None else set()
        failed |= not plain or not set(grade.problems) <= allowed
    sys.exit(failed)


@contextmanager
def serving(folder: Path, configuration: Path | None) -> Iterator[tuple[int, int]]:
    """A server with a managed kind of certificate; its two ports."""
    now = time.time()
    authority = new_authority(now, 900 * 86_400.0)
    leaf = new_leaf(authority, ["localhost", "127.0.0.1"], now, 90 * 86_400.0)
    (folder / "ca.crt").write_bytes(authority.certificate)
    (folder / "tls.crt").write_bytes(leaf.certificate)
    (folder / "tls.key").write_bytes(leaf.key)
    (folder / "policy.yaml").write_text(_POLICY)
    command = [sys.executable, "-m", "policyd", "serve", "-p", str(folder / "policy.yaml")]
    command += ["--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key")]
    command += ["--bind", "127.0.0.1:0", "--admin-bind", "127.0.0.1:0", "--drain", "0s"]
    environment = {**os.environ, "OPENSSL_CONF": str(configuration or os.devnull)}
    log = folder / "log"
    with log.open("wb") as stream:
        server = subprocess.Popen(command, cwd=ROOT, stderr=stream, env=environment)
    try:
        yield _ports(log, server)
    finally:
        server.kill()
        server.wait()


def _ports(log: Path, server: subprocess.Popen[bytes]) -> tuple[int, int]:
    end = time.monotonic() + _STARTED
    while time.monotonic() < end and server.poll() is None:
        for line in log.read_text().splitlines():
            if '"event":"listening"' in line:
                found = json.loads(line)
                reviews, admin = (found[name].rpartition(":")[2] for name in ("reviews", "admin"))
                return int(reviews), int(admin)
        time.sleep(0.05)
    raise SystemExit(f"the server did not start:\n{log.read_text()}")


def scan(scanner: Path, folder: Path, port: int) -> Grade:
    """Scan a port; ``folder`` has the certificate of its authority."""
    result, printed = _run(scanner, folder, port, "--resum", "--early_data")
    if not result:
        raise SystemExit(f"sslyze found no TLS on port {port}:\n{printed}")
    suites = {
        name.removesuffix("_cipher_suites"): each["result"]["accepted_cipher_suites"]
        for name, each in result.items()
        if name.endswith("_cipher_suites")
    }
    versions = tuple(sorted(name for name, accepted in suites.items() if accepted))
    ciphers = {each["cipher_suite"]["name"] for accepted in suites.values() for each in accepted}
    curves = result["elliptic_curves"]["result"]["supported_curves"]
    return Grade(
        versions,
        tuple(sorted(ciphers)),
        tuple(sorted(each["name"] for each in curves)),
        (*_compliance(printed), *_vulnerabilities(result)),
    )


def speaks_tls(scanner: Path, folder: Path, port: int) -> bool:
    """Whether a port answers TLS."""
    return bool(_run(scanner, folder, port)[0])


def curve_problem(curves: set[str]) -> str:
    """What sslyze says of curves that are not on Mozilla's list, in the order of their names."""
    return f"tls_curves: {' '.join(sorted(curves))} not on the list"


def _run(scanner: Path, folder: Path, port: int, *more: str) -> tuple[dict[str, Any], str]:
    """The results by check, and what is printed."""
    output = folder / "scan.json"
    output.unlink(missing_ok=True)
    command = [str(scanner), f"--json_out={output}", "--mozilla_config=intermediate", *more]
    command += [f"--certinfo_ca_file={folder / 'ca.crt'}", f"127.0.0.1:{port}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (target,) = json.loads(output.read_text())["server_scan_results"] or [{}]
    return target.get("scan_result") or {}, done.stdout + done.stderr


def _compliance(printed: str) -> Iterator[str]:
    """What is worse than Mozilla's configuration."""
    _, _, verdict = printed.partition("COMPLIANCE AGAINST TLS CONFIGURATION")
    if "FAILED" not in verdict and "OK - Compliant" not in verdict:
        yield f"sslyze gave no verdict: {verdict.strip()[:200]}"
    for line in verdict.splitlines():
        mark, _, text = line.strip().partition(" ")
        if mark == "*" and text.startswith("tls_curves"):
            named = text.partition("{")[2].partition("}")[0]
            yield curve_problem({each.strip(" '") for each in named.split(",")})
        elif mark == "*":
            yield text


def _vulnerabilities(result: dict[str, Any]) -> Iterator[str]:
    """Known attacks, by the fields of sslyze's result."""
    wrong = {
        ("heartbleed", "is_vulnerable_to_heartbleed"): True,
        ("openssl_ccs_injection", "is_vulnerable_to_ccs_injection"): True,
        ("session_renegotiation", "is_vulnerable_to_client_renegotiation_dos"): True,
        ("session_renegotiation", "supports_secure_renegotiation"): False,
        ("tls_1_3_early_data", "supports_early_data"): True,
        ("tls_compression", "supports_compression"): True,
        ("tls_fallback_scsv", "supports_fallback_scsv"): False,
        ("tls_extended_master_secret", "supports_ems_extension"): False,
    }
    for (check, field), bad in wrong.items():
        found = result[check]["result"]
        if found is None or found[field] is bad:
            yield f"{check}: {field} is {found and found[field]}"
    robot = (result["robot"]["result"] or {}).get("robot_result", "no result")
    if not str(robot).startswith("NOT_VULNERABLE"):
        yield f"robot: {robot}"


if __name__ == "__main__":
    main()
