"""Files whose names end in upper case are read everywhere. A file that is left out without a word
would be a policy that nobody enforces.
"""

import gzip
import json
import re
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import bundle_of
from policyd.policy.source.files import captures_in, is_json, is_source, read, without_packing
from policyd.policy.suite.reviews import build_review
from tests.builders.config_maps import policy_map
from tests.builders.objects import config_map
from tests.builders.policies import CONFIG_MAPS, demand, policy, suite
from tests.shared import ROOT

DENYING = policy("denying", CONFIG_MAPS, validations=[demand("false", "no")])
ENDINGS = [".yaml", ".yml", ".json", ".YAML", ".YML", ".JSON", ".Yaml", ".yaml.gz", ".JSON.GZ",
           ".yaml.GZ", ".YAML.gz"]  # fmt: skip


def write(folder: Path, name: str, document: JSONObject) -> Path:
    """A file with a document, compressed as its name says."""
    folder.mkdir(exist_ok=True)
    data = json.dumps(document).encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.lower().endswith(".gz") else data)
    return path


def run(*args: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(policyd, list(map(str, args)))
    return done.exit_code, done.output


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_command_reads_the_file(tmp_path: Path, ending: str) -> None:
    policies, manifests = tmp_path / "policies", tmp_path / "manifests"
    write(policies, f"a{ending}", DENYING)
    write(manifests, f"b{ending}", config_map("b"))
    case = {"name": "one", "request": {"object": config_map()}, "expect": {"allowed": True}}
    tests = tmp_path / "tests"
    write(tests, f"s{ending}", suite(policies=[f"../policies/a{ending}"], cases=[case]))
    for args, text in (
        (("apply", "-p", policies, manifests), "denied"),
        (("lint", policies), "1 document"),
        (("review", "-p", policies, "--object", manifests / f"b{ending}"), '"allowed":false'),
        (("test", tests), "1 of 1 case failed"),
        (("configmap", policies), "denying"),
    ):
        code, output = run(*args)
        assert text in output.replace(": false", ":false"), (args, code, output)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_key_of_a_config_map_is_read(ending: str) -> None:
    data = json.dumps(DENYING).encode()
    packed = gzip.compress(data) if ending.lower().endswith(".gz") else data.decode()
    (file,) = bundle_of(policy_map("a", {f"k{ending}": packed})).files
    assert orjson.loads(file.data) == DENYING


@pytest.mark.parametrize("name", ["a.jsonl", "a.JSONL", "a.jsonl.GZ", "a.JSONL.gz"])
def test_captures_are_read(tmp_path: Path, name: str) -> None:
    write(tmp_path / "captures", name, build_review(config_map()))
    assert [each.name for each in captures_in(tmp_path)] == [name]
    write(tmp_path / "policies", "a.yaml", DENYING)
    allowing = write(tmp_path / "old", "a.yaml", {**DENYING, "metadata": {"name": "old"}, "spec": {
        **DENYING["spec"], "validations": [demand("true", "no")]}})  # fmt: skip
    args = ("-p", tmp_path / "policies", "--against", allowing)
    code, output = run("replay", tmp_path / "captures", *args)
    assert (code, "now denied" in output) == (1, True), output


def test_what_a_name_says() -> None:
    assert [is_source(name) for name in (".A.YAML", "A.YAML~", "YAML", "a.gz", "a.yaml.gz.gz")] == [
        False
    ] * 5
    assert [without_packing(name) for name in ("a.YAML.GZ", "a.gz", "a")] == ["a.YAML", "a", "a"]
    assert [is_json(name) for name in ("a.JSON.gz", "a.yaml", "a.json.x")] == [True, False, False]


def test_files_of_one_folder_are_read_once_each(tmp_path: Path) -> None:
    for name in ("a.yaml", "A.YAML", "a.YAML"):
        write(tmp_path, name, DENYING)
    assert len(read([tmp_path])[0]) == len(list(tmp_path.iterdir()))


_BY_NAME = re.compile(
    r"""(?:endswith|removesuffix|r?glob|suffix\s*==)\s*\(?[^)\n]*["'][^"'\n]*\.(?:ya?ml|json|gz)\b"""
)


def test_no_other_module_decides_by_the_end_of_a_name() -> None:
    """``files.py`` has the functions that know upper case."""
    found = {
        str(path.relative_to(ROOT))
        for path in Path(ROOT, "policyd").rglob("*.py")
        if path.name != "files.py" and _BY_NAME.search(path.read_text(encoding="utf-8"))
    }
    assert found == set()
