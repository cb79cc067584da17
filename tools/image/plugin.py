"""policyd as a plugin of kubectl: the files of an image, run by their own loader. Needs no Python.

A zipapp cannot do this: Python loads no extension modules out of an archive. The archive has no
links, because Krew unpacks none.
"""

import hashlib
import json
import shutil
from pathlib import Path

import yaml

from tools.image import oci, settings, tree

_TEMPLATE = settings.ROOT / "deploy" / "krew" / "policyd.yaml"
_LAUNCHER = f"""\
#!/bin/sh
# policyd with its own Python, loader and libraries, wherever this folder is.
here=$(dirname "$(readlink -f "$0")")
export PYTHONHOME="$here" PYTHONPATH="$here/packages" PYTHONDONTWRITEBYTECODE=1
OPENSSL_CONF=$here/policyd.cnf \\
  exec "$here/lib/{{loader}}" --inhibit-cache --library-path "$here/lib" \\
  "$here/bin/python{settings.PYTHON}" -P -s -m policyd "$@"
"""


def write(root: Path, platform: settings.Platform, scratch: Path, output: Path) -> Path:
    """Write the archive of an image's files; ``scratch`` does not exist yet."""
    python = f"python{settings.PYTHON}"
    (scratch / "bin").mkdir(parents=True)
    shutil.copy(root / "usr/bin" / python, scratch / "bin")
    shutil.copytree(root / "usr/lib" / python, scratch / "lib" / python, symlinks=True)
    shutil.copytree(root / tree.PACKAGES, scratch / "packages", symlinks=True)
    shared = root / "usr/lib" / f"{platform.machine}-linux-gnu"
    for found in shared.glob("*.so*"):
        shutil.copy(found, scratch / "lib" / found.name)  # what a link leads to
    for name in ("doc", "sbom"):
        shutil.copytree(root / "usr/share" / name, scratch / "share" / name, symlinks=True)
    shutil.copy(root / tree.OPENSSL_CONFIGURATION, scratch)
    (loader,) = (scratch / "lib").glob("ld-linux-*.so.*")
    launcher = scratch / "kubectl-policyd"
    launcher.write_text(_LAUNCHER.format(loader=loader.name))
    for program in (launcher, loader, scratch / "bin" / python):
        program.chmod(0o755)
    _without_links(scratch)
    name = f"policyd-{settings.version()}-kubectl-linux-{platform.architecture}.tar.gz"
    (output / name).write_bytes(
        oci.layer(name, scratch, scratch.rglob("*"), settings.epoch()).packed
    )
    return output / name


def _without_links(folder: Path) -> None:
    """Replace links by what they lead to inside of the folder; others lead out of the archive."""
    for link in [each for each in folder.rglob("*") if each.is_symlink()]:
        target = link.resolve()
        link.unlink()
        if target.is_file() and target.is_relative_to(folder.resolve()):
            shutil.copy(target, link)


def write_all(scratch: Path, output: Path, url: str) -> str:
    """Write an archive for each architecture whose files are in ``scratch``; the manifest for Krew,
    if ``url`` has the archives.
    """
    text = _TEMPLATE.read_text(encoding="utf-8")
    made = yaml.safe_load(text.replace("VERSION", settings.version()).replace("URL", url))
    (entry,) = made["spec"]["platforms"]
    made["spec"]["platforms"] = []
    for platform in settings.PLATFORMS:
        root = scratch / platform.architecture
        if root.exists():
            archive = write(root, platform, scratch / f"plugin-{platform.architecture}", output)
            digest = hashlib.sha256(archive.read_bytes()).hexdigest()
            words = json.dumps(entry).replace("ARCHITECTURE", platform.architecture)
            made["spec"]["platforms"].append(json.loads(words.replace("SHA256", digest)))
    return yaml.safe_dump(made, sort_keys=False)
