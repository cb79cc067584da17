"""The machine and the versions that a measurement was made with. Measures nothing."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from policyd import __version__
from policyd.json_types import JSONObject

_LIBRARIES = ("orjson", "google-re2", "hypercorn", "uvloop")


def machine() -> JSONObject:
    """Return what is known of this machine."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "load": round(os.getloadavg()[0], 2),
    }


def versions() -> JSONObject:
    """Return the versions of policyd, Python, and the libraries that the figures depend on."""
    found: JSONObject = {"policyd": __version__, "python": sys.version.split()[0]}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # an installation without metadata
            found[name] = "unknown"
    return found


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # only Linux has it
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
