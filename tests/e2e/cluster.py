"""A real kube-apiserver with its etcd on loopback ports, for tests and for ``tools/make_schemas.py``.

    with cluster() as api:
        api.call("POST", "/api/v1/namespaces/default/configmaps", {...})

The programs (these two and kubectl) are those of ``kubernetes.chosen()``, built from the Go module in
``tests/e2e/apiserver`` (about five minutes the first time, less than one of them for kubectl) unless
``$POLICYD_APISERVER_BIN`` names a folder that holds them. There are no controllers: no service accounts, no type checking, no pods
that run. No tests here. ``python -m tests.e2e.cluster`` builds the programs and says where they are.
"""

import contextlib
import json
import os
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from policyd.json_types import JSONObject
from tests import kubernetes
from tests.e2e import unserved
from tests.shared import BINARIES, ROOT

MODULE = ROOT / "tests/e2e/apiserver"
BUILT = ROOT / "build/apiserver"
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
PROGRAMS = ("etcd", "kube-apiserver", "kubectl")
READY_WITHIN = 300.0  # seconds; two suffice on an idle machine


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running API server: ``server`` is its address, ``folder`` holds certificates and logs,
    ``programs`` those that it is made of; ``version`` is that of Kubernetes, such as 1.37; ``etcd``
    is the address of its store, to put there what the API server would refuse.
    """

    server: str
    folder: Path
    version: str
    programs: Path
    etcd: str

    def client_context(self) -> ssl.SSLContext:
        """TLS as a member of system:masters."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        context.load_cert_chain(self.folder / "admin.crt", self.folder / "admin.key")
        return context

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes, Mapping[str, str]]:
        """Status, body and headers of one call; an error status is an answer, not an exception."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.server + path,
            data=data,
            method=method,
            headers={"Content-Type": "application/json", **(headers or {})},
        )
        try:
            with urllib.request.urlopen(request, context=self.client_context()) as answer:
                return answer.status, answer.read(), dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), dict(error.headers)

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and decoded JSON of one call."""
        status, answer, _ = self.request(method, path, body)
        return status, json.loads(answer)

    def schemas(self) -> Iterator[tuple[str, JSONObject]]:
        """Yield the OpenAPI document of each group and version, such as ``apps/v1``.

        A group whose last definition was deleted since the list was read is left out: the API server
        then answers 404, or 200 without a body.
        """
        _, root = self.call("GET", "/openapi/v3")
        for path, entry in root["paths"].items():
            status, content, _ = self.request("GET", entry["serverRelativeURL"])
            if status == HTTPStatus.NOT_FOUND or not content:
                continue
            yield path.removeprefix("apis/").removeprefix("api/"), json.loads(content)


@contextlib.contextmanager
def cluster(folder: Path | None = None, flags: Sequence[str] = ()) -> Iterator[Cluster]:
    """Build, start, wait until ready, hand over, stop. ``flags`` go to kube-apiserver as they are."""
    programs, version = binaries()
    # The API server ends before etcd: 1.37 does not end without it.
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apiserver-")))
        certificates(folder)
        client, peer, port = free_ports(3)
        etcd = f"http://127.0.0.1:{client}"
        stack.enter_context(
            process([str(programs / "etcd"), *etcd_flags(folder, etcd, peer)], folder / "etcd.log")
        )
        command = [str(programs / "kube-apiserver"), *apiserver_flags(folder, etcd, port), *flags]
        server = stack.enter_context(process(command, folder / "kube-apiserver.log"))
        running = Cluster(f"https://127.0.0.1:{port}", folder, version, programs, etcd)
        wait_until_ready(running, server)
        yield running


def audit_log(folder: Path) -> list[str]:
    """Return the flags that make kube-apiserver write ``audit.log`` into a folder."""
    policy = folder / "audit-policy.yaml"
    policy.write_text(json.dumps(AUDIT_POLICY))
    return [f"--audit-policy-file={policy}", f"--audit-log-path={folder / 'audit.log'}"]


def binaries() -> tuple[Path, str]:
    """The folder of the programs, built if need be, and the version of Kubernetes they are of.

    kubernetes.Unavailable where they cannot be built.
    """
    named = os.environ.get(BINARIES)
    if named:
        return Path(named), version_of(Path(named))
    version = kubernetes.chosen()
    target = BUILT / version
    if not all((target / name).exists() for name in PROGRAMS):
        release = {**kubernetes.RELEASES, **kubernetes.AHEAD}[version]
        stamp = "k8s.io/component-base/version"
        major, minor = version.split(".")
        link = f"-s -w -X {stamp}.gitVersion={release}"
        link += f" -X {stamp}.gitMajor={major} -X {stamp}.gitMinor={minor}"
        packages = [f"./{name}" for name in PROGRAMS]
        if version in kubernetes.AHEAD:
            unserved.write(version)
        kubernetes.build(MODULE, version, target, *packages, link=link)
    return target, version


def version_of(folder: Path) -> str:
    """The version of a kube-apiserver; ValueError if the run asks for another one."""
    command = [str(folder / "kube-apiserver"), "--version"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    version = ".".join(shown.split()[-1].removeprefix("v").split(".")[:2])
    if os.environ.get(kubernetes.VARIABLE, version) != version:
        raise ValueError(f"{BINARIES} holds {shown.strip()}, not {kubernetes.chosen()}")
    return version


def etcd_flags(folder: Path, client: str, peer: int) -> list[str]:
    peers = f"http://127.0.0.1:{peer}"
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        "--unsafe-no-fsync=true",
    ]


def apiserver_flags(folder: Path, etcd: str, port: int) -> list[str]:
    return [
        f"--etcd-servers={etcd}",
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--cert-dir={folder}",
        f"--tls-cert-file={folder / 'server.crt'}",
        f"--tls-private-key-file={folder / 'server.key'}",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--service-account-key-file={folder / 'ca.crt'}",
        f"--service-account-signing-key-file={folder / 'ca.key'}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        "--allow-privileged=true",
        # 1.37 refuses to announce a loopback address as an endpoint of the kubernetes Service.
        "--endpoint-reconciler-type=none",
        # There is no controller that would make the default service accounts.
        "--disable-admission-plugins=ServiceAccount",
    ]


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on now; all are held open until the last is known."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextlib.contextmanager
def process(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A child process that is gone when the block ends."""
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def wait_until_ready(running: Cluster, server: subprocess.Popen[bytes]) -> None:
    """Poll /readyz; RuntimeError with the end of the log if the server ends or takes too long."""
    end = time.monotonic() + READY_WITHIN
    log = running.folder / "kube-apiserver.log"
    while time.monotonic() < end and server.poll() is None:
        try:
            if running.request("GET", "/readyz")[0] == 200:
                return
        except OSError:
            pass  # not listening yet
        time.sleep(0.1)
    raise RuntimeError(f"kube-apiserver is not ready:\n{log.read_text()[-2000:]}")


def certificates(folder: Path) -> None:
    """A CA, the serving certificate and an administrator's certificate, ECDSA P-256, by openssl."""
    openssl("req", "-x509", "-subj", "/CN=test-ca", *new_key(folder / "ca"), cwd=folder)
    certificate(folder, "server", "/CN=kube-apiserver")
    certificate(folder, "admin", "/O=system:masters/CN=admin")


def certificate(folder: Path, name: str, subject: str) -> None:
    """A certificate of the CA in that folder, for servers here and for clients."""
    extensions = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:10.0.0.1"
    signer = ["-CA", "ca.crt", "-CAkey", "ca.key", "-addext", extensions]
    openssl("req", "-x509", "-subj", subject, *new_key(folder / name), *signer, cwd=folder)


def new_key(stem: Path) -> list[str]:
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    return [*curve, "-keyout", f"{stem}.key", "-out", f"{stem}.crt"]


def openssl(*arguments: str, cwd: Path) -> None:
    subprocess.run(["openssl", *arguments], cwd=cwd, check=True, capture_output=True)


if __name__ == "__main__":
    print(*binaries())
