"""Push the image and the chart to a registry, sign both, and attest what the image is made of.

    make publish REPOSITORY=registry.example.com/team [KEY=cosign.key] [OPTIONS=…]
    python -m tools.publish REPOSITORY --key cosign.key --offline --http

It takes what ``make image`` wrote to build/image. The image becomes REPOSITORY/policyd, and the
chart REPOSITORY/charts/policyd; the chart that is pushed names the image by its digest. It needs
crane, cosign and helm, logged in to the registry; tests/node/cluster/programs.sh builds them.

Without ``--key`` cosign signs without keys: it asks for an identity (OIDC), and writes to the
public transparency log. ``--offline`` writes to no log and asks no service: for a key only.
What the key has signed and attested already is not signed again.
docs/install/verify.md has the commands that verify.
"""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.image import settings

CHART = settings.ROOT / "deploy" / "chart"
# By the suffix of the file: what cosign calls the type of the predicate.
SBOMS = {"cdx": "cyclonedx", "spdx": "spdxjson"}


# The predicate of a signature, which cosign attaches as it attaches attestations.
SIGNATURE = "https://sigstore.dev/cosign/sign/v1"


@dataclass(frozen=True, slots=True)
class Registry:
    """Where to, and how."""

    repository: str
    signing: tuple[str, ...]  # options of cosign
    verifying: tuple[str, ...]  # empty without a key: it is not known who will sign
    http: bool

    def sign(self, reference: str) -> None:
        """Sign what has this digest, unless it is signed."""
        if not self._attested(reference, SIGNATURE):
            self._cosign("sign", *self.signing, reference)

    def attest(self, reference: str, kind: str, file: Path) -> None:
        """Attest what is in a file, unless it is attested."""
        if json.loads(file.read_bytes()) not in self._attested(reference, kind):
            options = ("--type", kind, "--predicate", str(file))
            self._cosign("attest", *self.signing, *options, reference)

    def _cosign(self, command: str, *options: str) -> None:
        run("cosign", command, "--yes", *self._insecure(), *options)

    def _attested(self, reference: str, kind: str) -> list[Any]:
        """The predicates of this type that this key has signed."""
        if not self.verifying:
            return []
        words = ["verify-attestation", *self.verifying, *self._insecure(), "--type", kind]
        done = subprocess.run(
            ["cosign", *words, reference], capture_output=True, text=True, check=False
        )  # it fails if there is none
        return [each["predicate"] for each in statements(done.stdout)]

    def _insecure(self) -> list[str]:
        return ["--allow-http-registry"] if self.http else []


def statements(printed: str) -> Iterator[dict[str, Any]]:
    """The in-toto statements that ``cosign verify-attestation`` prints."""
    for line in printed.splitlines():
        if line.startswith("{"):
            yield json.loads(base64.b64decode(json.loads(line)["payload"]))


def run(*command: str, merged: bool = False) -> str:
    """The output of a program that must succeed; ``merged`` has its messages, too. Else they are
    shown: cosign asks for a password, or for a page to be opened.
    """
    errors = subprocess.STDOUT if merged else None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stdout)
        raise SystemExit(f"{' '.join(command)} failed; its messages are above")
    return done.stdout


def main() -> None:
    """Publish both, and print their digests."""
    parser = argparse.ArgumentParser(prog="python -m tools.publish")
    parser.add_argument("repository", help="the registry and a path in it")
    parser.add_argument("--images", type=Path, default=settings.BUILD, help="what was built")
    parser.add_argument("--key", default="", help="the private key, or the URI of one")
    parser.add_argument("--offline", action="store_true", help="write to no transparency log")
    parser.add_argument("--http", action="store_true", help="the registry has no TLS")
    parser.add_argument("--source", default="", help="the address of the repository of sources")
    given = parser.parse_args()
    if given.offline and not given.key:
        parser.error("--offline needs --key: without a key cosign asks services")
    archive = given.images / f"policyd-{settings.version()}.oci.tar"
    if not archive.exists():
        parser.error(f"{archive} is missing: run make image")
    for name in ("crane", "cosign", "helm"):
        if not shutil.which(name):
            parser.error(
                f"{name} is not in PATH: tests/node/cluster/programs.sh {name} builds it into "
                "build/node/bin"
            )
    with tempfile.TemporaryDirectory() as scratch:
        signing, verifying = [], []
        if given.key:
            public = str(Path(scratch, "cosign.pub"))
            run("cosign", "public-key", "--key", given.key, "--outfile", public)
            signing, verifying = ["--key", given.key], ["--key", public]
        if given.offline:
            signing += without_services(Path(scratch))
            verifying.append("--insecure-ignore-tlog=true")
        registry = Registry(given.repository, (*signing,), (*verifying,), given.http)
        image, architectures = push_image(registry, given.images)
        print(image, flush=True)
        print(push_chart(registry, image, architectures, given.source))


def without_services(folder: Path) -> Iterator[str]:
    """Options with which cosign asks no log, no authority and no clock: lists of none."""
    for name in ("signing-config", "trusted-root"):
        file = str(folder / f"{name}.json")
        run("cosign", name, "create", "--out", file)
        yield f"--{name}={file}"


def push_image(registry: Registry, folder: Path) -> tuple[str, list[str]]:
    """Push the index, sign it and the images in it, and attest; the image by digest, and its
    architectures.
    """
    name = f"policyd-{settings.version()}"
    with tempfile.TemporaryDirectory() as scratch:
        run("tar", "-xf", str(folder / f"{name}.oci.tar"), "-C", scratch, "--no-same-owner")
        index, images = _digests(Path(scratch))
        insecure = ["--insecure"] if registry.http else []
        place = f"{registry.repository}/policyd"
        run("crane", "push", *insecure, scratch, f"{place}:{settings.version()}")
        pushed = run("crane", "digest", *insecure, f"{place}:{settings.version()}").strip()
    if pushed != index:
        raise SystemExit(f"{place} has {pushed}, and not {index}, which was built")
    for digest in (index, *images.values()):
        registry.sign(f"{place}@{digest}")
    registry.attest(f"{place}@{index}", "slsaprovenance1", folder / f"{name}.provenance.json")
    for architecture, digest in images.items():
        for suffix, kind in SBOMS.items():
            file = folder / f"{name}-{architecture}.{suffix}.json"
            registry.attest(f"{place}@{digest}", kind, file)
    return f"{place}@{index}", [*images]


def _digests(layout: Path) -> tuple[str, dict[str, str]]:
    """The digest of the index, and that of each image by architecture."""
    (index,) = json.loads((layout / "index.json").read_bytes())["manifests"]
    file = layout / "blobs" / index["digest"].replace(":", "/")
    listed = json.loads(file.read_bytes())["manifests"]
    return index["digest"], {each["platform"]["architecture"]: each["digest"] for each in listed}


def push_chart(registry: Registry, image: str, architectures: list[str], source: str) -> str:
    """Push the chart for this image, and sign it; the chart by digest."""
    with tempfile.TemporaryDirectory() as scratch:
        package = packaged(image, architectures, source, Path(scratch))
        place = f"{registry.repository}/charts"
        plain = ["--plain-http"] if registry.http else []
        push = ["helm", "push", *plain, str(package), f"oci://{place}"]
        printed = run(*push, merged=True)
    (digest,) = (line.split()[1] for line in printed.splitlines() if line.startswith("Digest:"))
    registry.sign(f"{place}/policyd@{digest}")
    return f"{place}/policyd@{digest}"


def packaged(image: str, architectures: list[str], source: str, folder: Path) -> Path:
    """The package of the chart, whose default image is this one, by digest. helm keeps the times
    of its files, and writes that of the package into the manifest.
    """
    chart = folder / "policyd"
    shutil.copytree(CHART, chart)
    repository, _, digest = image.partition("@")
    values = chart / "values.yaml"
    text = values.read_text(encoding="utf-8")
    for old, new in (
        ("  repository: policyd\n", f"  repository: {repository}\n"),
        ('  digest: ""\n', f"  digest: {digest}\n"),
    ):
        if text.count(old) != 1:
            raise SystemExit(f"{CHART}/values.yaml does not have the line {old.strip()} once")
        text = text.replace(old, new)
    values.write_text(text, encoding="utf-8")
    described: dict[str, Any] = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    described["annotations"]["artifacthub.io/images"] = yaml.safe_dump(
        [
            {
                "name": "policyd",
                "image": image,
                "platforms": [f"linux/{each}" for each in architectures],
            }
        ],
        sort_keys=False,
    )
    if source:
        described["home"], described["sources"] = source, [source]
    (chart / "Chart.yaml").write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    time = settings.epoch()
    for each in chart.rglob("*"):
        os.utime(each, (time, time))
    run("helm", "package", str(chart), "--destination", str(folder))
    package = folder / f"policyd-{settings.version()}.tgz"
    os.utime(package, (time, time))
    return package


if __name__ == "__main__":
    main()
