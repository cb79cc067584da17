"""The Go module that a pre-release of Kubernetes needs and the module proxy does not serve.

k8s.io/apiextensions-api of 1.38 holds the API types and clients that k8s.io/apiextensions-apiserver of
1.37 had in the same packages. ``tests/e2e/apiserver/kubernetes-1.38.mod`` replaces it with what ``write``
makes of them. No tests here; goes with the replacement when the module is served.
"""

import json
import shutil
import subprocess
from pathlib import Path

from tests import kubernetes
from tests.shared import ROOT

TARGET = ROOT / "build/apiextensions-api"
NAME = "k8s.io/apiextensions-api"
BEFORE = "k8s.io/apiextensions-apiserver"
PACKAGES = ("pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1", "pkg/client")
# Conversions to the types inside the API server stayed there, as did its tests.
STAYED = ("*_test.go", "clientset_test", "conversion.go", "zz_generated.conversion.go")
RENAMED = {
    f"{BEFORE}/": f"{NAME}/",
    "sigs.k8s.io/structured-merge-diff/v6/": "sigs.k8s.io/structured-merge-diff/v7/",
}


def write(version: str) -> None:
    """Write the module of a version of AHEAD; kubernetes.Unavailable where Go cannot fetch its parts."""
    release = kubernetes.RELEASES[kubernetes.NEWEST].replace("v1.", "v0.")
    command = [kubernetes.go_command(), "mod", "download", "-json", f"{BEFORE}@{release}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT / "tests")
    if found.returncode:
        raise kubernetes.Unavailable(f"{BEFORE} {release}: {found.stdout.strip()[-300:]}")
    source = Path(json.loads(found.stdout)["Dir"])
    shutil.rmtree(TARGET, ignore_errors=True)
    for package in PACKAGES:
        copied = shutil.copytree(
            source / package, TARGET / package, ignore=shutil.ignore_patterns(*STAYED)
        )
        for name in [copied, *copied.rglob("*")]:
            name.chmod(0o755 if name.is_dir() else 0o644)
    for file in TARGET.rglob("*.go"):
        text = file.read_text()
        for before, after in RENAMED.items():
            text = text.replace(before, after)
        file.write_text(text)
    for package in PACKAGES[:2]:  # what conversion.go declared for the others
        own = Path(package).name
        (TARGET / package / "null.go").write_text(
            f'package {own}\n\nvar nullLiteral = []byte("null")\n'
        )
    staging = kubernetes.AHEAD[version].replace("v1.", "v0.")
    toolchain = kubernetes.TOOLCHAINS[version].removeprefix("go").rpartition(".")[0]
    needs = [f"require k8s.io/{each} {staging}" for each in ("api", "apimachinery", "client-go")]
    (TARGET / "go.mod").write_text("\n".join([f"module {NAME}", f"go {toolchain}.0", *needs, ""]))
