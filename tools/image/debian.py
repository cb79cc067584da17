"""Unpack Debian packages into a folder: no maintainer scripts, no root."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.image import settings

# Without these, apt would use the lists that the machine has, which are of its own architecture.
_STATE = {
    "APT::Architecture": "{architecture}",
    "APT::Architectures": "{architecture}",
    "Dir::State::Lists": "{folder}/lists",
    "Dir::State::Status": "{folder}/status",
    "Dir::Cache": "{folder}/cache",
}


@dataclass(frozen=True, slots=True)
class Package:
    """A Debian package: what its control file says, and the hash of its archive."""

    name: str
    version: str
    architecture: str
    source: str
    control: str
    sha256: str = ""


OWN = ("-o", "APT::Sandbox::User=root", "-o", "APT::Default-Release=")


def options_for(folder: Path, architecture: str) -> list[str]:
    """The options of apt for packages of an architecture; those of this machine's own are in its
    lists, for others the lists are downloaded to ``folder``.
    """
    if architecture == settings.AMD64.architecture:
        return [*OWN]
    options = [*OWN, *_lists(folder, architecture)]
    apt([*options, "update"], folder)
    return options


def download(folder: Path, names: Sequence[str], options: Sequence[str] = OWN) -> list[Path]:
    """The newest version of each package that the lists of this machine have, or those that the
    options of apt name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as empty:  # apt does not list what is in the folder already
        listed = apt([*options, "--print-uris", "download", *names], Path(empty))
    wanted = {line.split()[1] for line in listed.splitlines() if line.startswith("'")}
    if len(wanted) != len(names):
        raise SystemExit(f"the package lists do not have all of {', '.join(names)}")
    for each in folder.glob("*.deb"):
        if each.name not in wanted:
            each.unlink()
    missing = wanted - {each.name for each in folder.glob("*.deb")}
    if missing:
        apt([*options, "download", *names], folder)
    return sorted(folder.glob("*.deb"))


def unpack(archives: list[Path], root: Path) -> list[Package]:
    """Unpack the archives without what a server does not use, and record each for scanners."""
    packages = unpack_all(archives, root)
    library = root / "usr/lib" / f"python{settings.PYTHON}"
    for folder, patterns in ((root, settings.UNUSED_FILES), (library, settings.UNUSED_MODULES)):
        for pattern in patterns:
            for found in folder.glob(pattern):
                remove(found)
    _keep_licences(root / "usr/share/doc")
    status = root / "var/lib/dpkg/status.d"  # where scanners look in images without dpkg
    status.mkdir(parents=True)
    for package in packages:
        (status / package.name).write_text(package.control, encoding="utf-8")
    return packages


def _lists(folder: Path, architecture: str) -> list[str]:
    """Options of apt for package lists of another architecture, in a folder of their own."""
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    values = {
        name: value.format(folder=folder, architecture=architecture)
        for name, value in _STATE.items()
    }
    return [part for name, value in values.items() for part in ("-o", f"{name}={value}")]


def unpack_all(archives: list[Path], root: Path) -> list[Package]:
    """Unpack the archives as they are."""
    _merged_usr(root)
    return [_unpacked(archive, root) for archive in archives]


def remove(path: Path) -> None:
    """Delete a file, a link or a folder."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def apt(arguments: list[str], folder: Path) -> str:
    """What apt-get prints."""
    done = subprocess.run(
        ["apt-get", "-qq", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"apt-get failed; run apt-get update, on Debian 12:\n{done.stderr.strip()}"
        )
    return done.stdout


def _merged_usr(root: Path) -> None:
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")


def _unpacked(archive: Path, root: Path) -> Package:
    """tar keeps the links of the merged /usr: the packages still have files in /lib."""
    packed = ["dpkg-deb", "--fsys-tarfile", str(archive)]
    with subprocess.Popen(packed, stdout=subprocess.PIPE) as data:
        subprocess.run(extracting(root), stdin=data.stdout, check=True)
    if data.returncode:
        raise SystemExit(f"{archive} cannot be unpacked: delete it and try again")
    control = subprocess.run(
        ["dpkg-deb", "--field", archive],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    fields = dict(_fields(control))
    source = fields.get("Source", fields["Package"]).split()[0]
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    return Package(
        fields["Package"], fields["Version"], fields["Architecture"], source, control, digest
    )


def extracting(root: Path) -> list[str]:
    """The command that unpacks; modes are kept for users, too: /tmp is everyone's."""
    kept = ["--keep-directory-symlink", "--no-same-owner", "--preserve-permissions"]
    return ["tar", "-x", "-C", str(root), *kept]


def _fields(control: str) -> Iterator[tuple[str, str]]:
    for line in control.splitlines():
        if line[:1].strip():
            name, _, value = line.partition(":")
            yield name, value.strip()


def _keep_licences(documentation: Path) -> None:
    for found in sorted(documentation.rglob("*"), reverse=True):
        if found.is_symlink() and found.is_dir():
            continue  # packages of one source share a folder
        if not found.is_dir():
            if found.name != "copyright":
                found.unlink()
        elif not any(found.iterdir()):
            found.rmdir()


def licences(root: Path, package: Package) -> list[str]:
    """The short names of licences in the package's copyright file, as Debian words them."""
    file = root / "usr/share/doc" / package.name / "copyright"
    if not file.exists():
        return []
    found = {
        line.partition(":")[2].strip()
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.startswith("License:")
    }
    return sorted(found - {""})
