"""Packages of any release and architecture of Debian, from the mirror of this machine's apt.

apt verifies them by its keyring. Nothing is installed here.
"""

import subprocess
import tempfile
from pathlib import Path

from tools.image import debian
from tools.release.settings import BUILD

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def mirror() -> str:
    """The address of Debian's archive in the configuration of apt."""
    command = ["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        origin, _, address = line.partition(" ")
        if origin == "Debian" and address.rstrip("/").endswith("/debian"):
            return address
    raise SystemExit("apt has no package lists of Debian: run apt-get update, on Debian 12")


def options(suite: str, architecture: str) -> list[str]:
    """The options of apt for the newest package lists of a suite, which this downloads."""
    folder = BUILD / "apt" / f"{suite}-{architecture}"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={_KEYRING}] {mirror()} {suite} main\n", encoding="utf-8")
    settings = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Sandbox::User": "root",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::Languages": "none",
        "Dir::Cache": str(folder / "cache"),
        "Dir::Etc::sourcelist": str(sources),
        "Dir::Etc::sourceparts": "-",
        "Dir::State": str(folder),
        "Dir::State::status": str(folder / "status"),
    }
    found = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    debian.apt([*found, "update"], folder)
    return found


def download(suite: str, architecture: str, *names: str) -> list[Path]:
    """The archives of these packages, of the newest versions of the suite."""
    return debian.download(
        BUILD / "debian" / f"{suite}-{architecture}", names, options(suite, architecture)
    )


def download_all(suite: str, architecture: str, *names: str) -> list[Path]:
    """The same, with all that they depend on."""
    found = options(suite, architecture)
    archives = BUILD / "apt" / f"{suite}-{architecture}" / "cache/archives"
    install = ["--yes", "--no-install-recommends", "--download-only", "install", *names]
    with tempfile.TemporaryDirectory() as empty:  # apt does not list what it has already
        nowhere = ["-o", f"Dir::Cache::archives={empty}", "--print-uris"]
        listed = debian.apt([*found, *nowhere, *install], archives)
    debian.apt([*found, *install], archives)
    wanted = {line.split()[1] for line in listed.splitlines() if line.startswith("'")}
    return sorted(each for each in archives.glob("*.deb") if each.name in wanted)
