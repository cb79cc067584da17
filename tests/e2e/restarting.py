"""An API server that can be stopped and started again. No tests here."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.e2e.cluster import (
    Cluster,
    apiserver_flags,
    binaries,
    certificates,
    etcd_flags,
    free_ports,
    process,
    wait_until_ready,
)


class Restarting:
    """An API server that can be stopped and started; its store stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._programs, self._version = binaries()
        certificates(folder)
        client, self._peer, self._port = free_ports(3)
        self._etcd = f"http://127.0.0.1:{client}"
        self._running = ExitStack()

    @contextmanager
    def store(self) -> Iterator[None]:
        """The store, and the end of everything."""
        flags = etcd_flags(self._folder, self._etcd, self._peer)
        command = [str(self._programs / "etcd"), *flags]
        with process(command, self._folder / "etcd.log"), self._running:
            yield

    def start(self, *more: str, without: str = "\0") -> Cluster:
        """Start it with ``more`` flags; ``without``: the beginning of a flag that is left out."""
        usual = apiserver_flags(self._folder, self._etcd, self._port)
        flags = [*(each for each in usual if not each.startswith(without)), *more]
        command = [str(self._programs / "kube-apiserver"), *flags]
        log = self._folder / "kube-apiserver.log"
        server = self._running.enter_context(process(command, log))
        running = Cluster(
            f"https://127.0.0.1:{self._port}",
            self._folder,
            self._version,
            self._programs,
            self._etcd,
        )
        wait_until_ready(running, server)
        return running

    def stop(self) -> None:
        self._running.close()
