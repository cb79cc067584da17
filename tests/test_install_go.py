"""Go is installed from a module of the proxy: checked, unpacked as the go command does, once."""

import platform
import subprocess
import zipfile
from pathlib import Path

import pytest

from tools import install_go

MODULE = "golang.org/toolchain@v0.0.1-go1.26.8.linux-amd64"
FILES = {
    "bin/go": "#!/bin/sh\necho it runs\n",
    "pkg/tool/linux_amd64/compile": "#!/bin/sh\n",
    "src/_go.mod": "module std\n",
    "src/cmd/_go.mod": "module cmd\n",
    "VERSION": "go1.26.8\n",
}
# Computed from the definition: SHA-256 of the lines `SHA-256 of the file, name`, sorted.
CHECKSUM = "t/XYlARQhbtfY46u58u7aaN7DwUFquUPIOzeZ80j4tU="


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The zip of a toolchain where the proxy has it."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(install_go, "PLATFORMS", {"x86_64": ("linux-amd64", CHECKSUM)})
    monkeypatch.setenv("GOPROXY", f"{tmp_path.as_uri()}/,direct")
    module = tmp_path / "golang.org/toolchain/@v/v0.0.1-go1.26.8.linux-amd64.zip"
    module.parent.mkdir(parents=True)
    with zipfile.ZipFile(module, "w") as written:
        for name, content in FILES.items():
            written.writestr(f"{MODULE}/{name}", content)
    return module


def test_a_toolchain_is_installed_once(
    tmp_path: Path, served: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "cache" / "go"
    assert install_go.main([str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'bin' / 'go'}\n"
    shown = subprocess.run([folder / "bin" / "go"], check=True, capture_output=True, text=True)
    assert shown.stdout == "it runs\n"
    assert (folder / "pkg/tool/linux_amd64/compile").stat().st_mode & 0o111
    assert not (folder / "VERSION").stat().st_mode & 0o111
    assert (folder / "src/go.mod").read_text() == "module std\n"
    assert (folder / "src/cmd/go.mod").read_text() == "module cmd\n"
    served.unlink()
    assert install_go.main([str(folder)]) == 0


def test_another_content_is_refused(tmp_path: Path, served: Path) -> None:
    with zipfile.ZipFile(served, "a") as written:
        written.writestr(f"{MODULE}/bin/other", "")
    with pytest.raises(ValueError, match="with the checksum"):
        install_go.main([str(tmp_path / "go")])
    assert not (tmp_path / "go").exists()


def test_a_machine_that_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    assert install_go.main([str(tmp_path / "go")]) == 1
    assert "no Go toolchain for" in capsys.readouterr().err


@pytest.mark.parametrize("listed", ["", "direct", "off"])
def test_without_a_proxy_of_its_own(monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    monkeypatch.setenv("GOPROXY", listed)
    assert install_go.proxy() == "https://proxy.golang.org"
