"""Policies and certificates that change under a running server."""

import ssl
from functools import partial
from pathlib import Path

import pytest

from policyd.tls.issuing import self_signed
from tests.builders.reviews import body
from tests.server.load import Load
from tests.server.process import Process, fake_server, texts, until, write_sources


def publish(folder: Path, version: str, line: str, files: int = 6) -> None:
    """What kubelet does to a mounted ConfigMap: a new folder, then one rename of ``..data``."""
    new = write_sources(folder / f"..{version}", **{f"p{i}": line for i in range(files)})
    (folder / "..data_tmp").symlink_to(new.name)
    (folder / "..data_tmp").rename(folder / "..data")
    for i in range(files):
        link = folder / f"p{i}.txt"
        if not link.is_symlink():
            link.symlink_to(f"..data/p{i}.txt")


def reached(load: Load, version: str) -> bool:
    return bool(load.answers) and texts(load.answers[-1])[0] == version


@pytest.mark.usefixtures("http_server")
def test_config_map_swaps_under_load_fail_nothing_and_mix_nothing(tmp_path: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    publish(mount, "v0", "allow v0")
    with fake_server(tmp_path, mount) as server, Load(server) as load:
        for version in ("v1", "v2", "v3"):
            publish(mount, version, f"allow {version}")
            until(partial(reached, load, version), version)
        load.stop()
        assert load.failures == []
        seen = {tuple(texts(answer)) for answer in load.answers}
        assert seen == {(version,) * 6 for version in ("v0", "v1", "v2", "v3")}
        assert server.metric('policyd_reloads_total{result="success"}') == 4
        assert server.metric('policyd_reloads_total{result="error"}') == 0


def errors_after(server: Process, source: Path, line: str) -> list[str]:
    """Break the sources, and what the log says of it."""
    before = len(server.lines("reload"))
    source.write_text(line)
    until(lambda: len(server.lines("reload")) > before, "a reload")
    last = server.lines("reload")[-1]
    assert last["level"] == "error"
    errors: list[str] = last["errors"]
    return errors


def test_set_in_use_stays_whatever_is_wrong_with_the_new_one(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow first")
    with fake_server(tmp_path, sources) as server:
        generation = server.get("/policies")[1]
        for line, error in (
            ("unreadable", "not a policy"),
            ("broken", "it is broken"),
            ("crash", "KeyError: 'a defect of the compiler'"),
        ):
            assert error in errors_after(server, sources / "a.txt", line)[0]
            assert texts(server.post("/validate", body())[1]) == ["first"]
            assert server.get("/readyz") == (200, "ok")
            assert error in server.get("/policies")[1]
            assert '"succeeded":false' in server.get("/policies")[1]
        assert generation.split('"', 4)[3] in server.get("/policies")[1]
        assert server.metric('policyd_reloads_total{result="error"}') == 3
        (sources / "a.txt").write_text("allow second")
        until(lambda: texts(server.post("/validate", body())[1]) == ["second"], "the mended set")
        assert '"succeeded":true' in server.get("/policies")[1]


def test_policy_is_added_and_removed(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources", a="allow a")
    with fake_server(tmp_path, sources) as server:
        write_sources(sources, b="deny b")
        until(lambda: texts(server.post("/validate", body())[1]) == ["a", "b"], "policy b")
        assert server.get("/policies/b")[0] == 200
        (sources / "b.txt").unlink()
        until(lambda: texts(server.post("/validate", body())[1]) == ["a"], "its end")
        assert server.get("/policies/b")[0] == 404


def write_pair(folder: Path, name: str, cert: bytes, key: bytes) -> None:
    (folder / f"{name}.crt").write_bytes(cert)
    (folder / f"{name}.key").write_bytes(key)


def shown_certificate(server: Process) -> bytes:
    with server.secure_socket() as sock:
        return sock.getpeercert(binary_form=True) or b""


@pytest.mark.usefixtures("http_server")
def test_certificate_is_replaced_without_dropping_a_connection(tmp_path: Path) -> None:
    first, second = self_signed(), self_signed()
    write_pair(tmp_path, "tls", *first)
    files = {"tls_cert": str(tmp_path / "tls.crt"), "tls_key": str(tmp_path / "tls.key")}
    with fake_server(tmp_path, **files) as server:
        assert shown_certificate(server) == ssl.PEM_cert_to_DER_cert(first[0].decode())
        kept = server.connect()
        kept.request("POST", "/validate", body())
        assert kept.getresponse().read()
        own_socket = kept.sock
        (tmp_path / "tls.crt").write_bytes(second[0])  # the key does not fit yet
        until(lambda: server.lines("certificate"), "the refusal")
        assert "not a usable pair" in server.lines("certificate")[0]["message"]
        assert shown_certificate(server) == ssl.PEM_cert_to_DER_cert(first[0].decode())
        (tmp_path / "tls.key").write_bytes(second[1])
        want = ssl.PEM_cert_to_DER_cert(second[0].decode())
        until(lambda: shown_certificate(server) == want, "the new certificate")
        kept.request("POST", "/validate", body())
        assert kept.getresponse().status == 200
        assert kept.sock is own_socket
        kept.close()
