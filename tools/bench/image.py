"""The image that ``make image`` built, none of which is in memory: until it is ready, and its first
requests. Needs root, for chroot.

A request after a quiet second costs about as much as the first one: the caches of the processor are
cold for both.
"""

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, sleep

from tests.server import pair
from tests.server.many import IDLE
from tests.server.process import Process, trusting, until
from tools.bench import core
from tools.bench.server import Connection, cpu_seconds, request
from tools.bench.start import COUNT, texts
from tools.image.settings import BUILD, version

Row = core.Row
ARCHIVE = BUILD / f"policyd-{version()}.oci.tar"
STARTS = 7
FIRST = 100  # requests
USER = "65532:65532"


def image() -> Iterator[Row]:
    """CPU and time of a cold start, and CPU of the first requests; 100 policies are mounted."""
    if not ARCHIVE.exists():
        yield "the image", "not built: run `make image`", ""
        return
    if os.geteuid():
        yield "the image", "not measured: chroot needs root", ""
        return
    sent = [request(each) for each in core.bodies()[:FIRST]]
    with TemporaryDirectory() as name:
        root = Path(name) / "root"
        root.mkdir()
        variables = unpack(root)
        (root / "policies").mkdir()
        for each, text in texts():
            (root / "policies" / f"{each}.yaml").write_text(text)
        for file in pair.files():
            shutil.copy(file, root)
            (root / Path(file).name).chmod(0o644)
        Path(name).chmod(0o755)
        flags = "--tls-cert /tls.crt --tls-key /tls.key --bind 127.0.0.1:0 --admin-bind 127.0.0.1:0"
        chroot = shutil.which("chroot") or "chroot"  # the PATH is that of the image
        command = ["env", "-i", *variables, chroot, f"--userspec={USER}", str(root)]
        command += ["policyd", "serve", "--policies", "/policies", *flags.split()]
        starts: list[tuple[float, float]] = []
        requests: list[list[float]] = []
        for _ in range(STARTS):
            evict(root)
            begin = perf_counter()
            with Process(command, Path(name) / "log") as server:
                starts.append((perf_counter() - begin, cpu_seconds(server.child.pid)))
                requests.append(list(_costs(server, sent)))
    seconds, cpu = (median(each) for each in zip(*starts, strict=True))
    yield f"image, ready with {COUNT} policies", f"{seconds:.2f} s, {cpu:.2f} s of CPU", "0.5 s"
    usual = median(median(each[:FIRST]) for each in requests)
    for what, at in (("its first request, CPU", 0), ("a request after a quiet second, CPU", FIRST)):
        cost = median(each[at] for each in requests)
        figure = f"{cost * 1e6:.0f} µs = {cost / usual:.1f} x the median of {FIRST}"
        yield what, figure, "" if at else "3 x"


def _costs(server: Process, sent: list[bytes]) -> Iterator[float]:
    """Seconds of CPU for each of the first requests and for one after a pause, on a connection that
    is open.
    """
    connection = Connection(server.port, trusting())
    until(lambda: server.metric(IDLE), "the connection")
    for number, each in enumerate([*sent, sent[0]]):
        if number == FIRST:
            sleep(1)
        before = cpu_seconds(server.child.pid)
        connection.send(each)
        connection.receive()
        yield cpu_seconds(server.child.pid) - before


def unpack(root: Path) -> list[str]:
    """Write the files of the first image of the archive; return its environment."""
    with tarfile.open(ARCHIVE) as archive:

        def blob(described: dict[str, str]) -> bytes:
            file = archive.extractfile(f"blobs/{described['digest'].replace(':', '/')}")
            assert file is not None
            return file.read()

        index = archive.extractfile("index.json")
        assert index is not None
        listed = json.loads(blob(json.load(index)["manifests"][0]))
        manifest = json.loads(blob(listed["manifests"][0]))
        for layer in manifest["layers"]:
            unpacking = ["tar", "--extract", "--gzip", "--preserve-permissions", "-C", str(root)]
            subprocess.run(unpacking, input=blob(layer), check=True)
        return list(json.loads(blob(manifest["config"]))["config"]["Env"])


def evict(root: Path) -> None:
    """Drop the pages of all files from memory."""
    os.sync()
    for file in root.rglob("*"):
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
