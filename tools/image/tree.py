"""The files of the image that are not of Debian packages: wheels, programs, users."""

import configparser
import zipfile
from pathlib import Path

from tools.image import settings

HOME = "opt/policyd"
PACKAGES = f"{HOME}/lib/python{settings.PYTHON}/site-packages"
USER = 65532
# What OPENSSL_CONF names, of deploy/openssl.cnf.
OPENSSL_CONFIGURATION = "etc/ssl/policyd.cnf"
_LAUNCHER = f"""\
#!/{HOME}/bin/python
import sys

from {{module}} import {{function}}

sys.exit({{function}}())
"""


def install(wheel: Path, root: Path) -> None:
    """Unpack a wheel, as pip does for one without data files, and write the programs it names."""
    target = root / PACKAGES
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for name in names:
            if name.split("/")[0].endswith(".data"):
                continue  # programs and headers for other packages
            if (target / name).is_file():
                raise SystemExit(f"{wheel.name} and another wheel both have {name}")
            archive.extract(name, target)
    (information,) = target.glob(f"{_distribution(wheel)}.dist-info")
    (information / "INSTALLER").write_text("policyd\n")
    (information / "RECORD").unlink()  # what it lists and what is there differ


def launcher(root: Path, distribution: str) -> None:
    """A virtual environment's Python, and the programs of one distribution."""
    programs = root / HOME / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(f"/usr/bin/python{settings.PYTHON}")
    (root / HOME / "pyvenv.cfg").write_text(
        "home = /usr/bin\ninclude-system-site-packages = false\n"
    )
    (information,) = (root / PACKAGES).glob(f"{distribution}-*.dist-info")
    entries = configparser.ConfigParser()
    entries.read(information / "entry_points.txt")
    for name, place in entries["console_scripts"].items():
        module, _, function = place.partition(":")
        file = programs / name
        file.write_text(_LAUNCHER.format(module=module, function=function))
        file.chmod(0o755)


def system(root: Path) -> None:
    """Users, name lookup, settings of OpenSSL, and the folders that every system has."""
    for name in ("dev", "etc", "proc", "run", "sys", "tmp", "var/tmp"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    people = {"root": 0, "policyd": USER, "nobody": 65534}
    users = [
        f"{name}:x:{each}:{each}::/nonexistent:/usr/sbin/nologin" for name, each in people.items()
    ]
    groups = [f"{name}:x:{each}:" for name, each in people.items()]
    (root / "etc/passwd").write_text("\n".join(users) + "\n")
    (root / "etc/group").write_text("\n".join(groups) + "\n")
    configuration = root / OPENSSL_CONFIGURATION
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_bytes((settings.ROOT / "deploy/openssl.cnf").read_bytes())
    (root / "etc/nsswitch.conf").write_text("passwd: files\ngroup: files\nhosts: files dns\n")


def _distribution(wheel: Path) -> str:
    name, version, *_ = wheel.name.split("-")
    return f"{name}-{version}"
