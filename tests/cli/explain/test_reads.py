"""``policyd explain`` shows what policies read of other objects."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cli import policyd
from policyd.json_types import JSONObject
from tests.builders.policies import CONFIG_MAPS, demand, policy
from tests.builders.reads import CONFIG_MAPS_READ, HOSTS

KEYED: JSONObject = {**CONFIG_MAPS_READ, "namespace": "any", "key": HOSTS}
WIDE = {"COLUMNS": "120"}


def found(name: str, namespace: str, hosts: list[str]) -> JSONObject:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"hosts": hosts}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    objects = [found("own", "shop", ["a"]), found("x", "lab", ["a", "b"]), found("y", "lab", ["b"])]
    Path("objects.json").write_text("\n".join(map(json.dumps, objects)))


def explained(read: JSONObject, expression: str, *flags: str) -> str:
    written = policy("p", CONFIG_MAPS, reads=[read], validations=[demand(expression, "no")])
    Path("p.json").write_text(json.dumps(written))
    arguments = ["explain", "-p", "p.json", "objects.json", "--select", "ConfigMap/own", *flags]
    done = CliRunner(env=WIDE).invoke(policyd, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


SHOWN = [
    (
        KEYED,
        "!(object.data.hosts[0] in reads.maps) && reads.maps[?'z'].hasValue()",
        [
            "    read maps: 1 lookup, by key item.data.hosts",
            "      ['a']: 1 ConfigMap object: lab/x",
        ],
    ),
    (
        KEYED,
        "reads.maps[?'z'].hasValue() && reads.maps.b.size() > 2",
        ["    read maps: 1 lookup, by key item.data.hosts", "      ['z']: 0 ConfigMap objects"],
    ),
    (
        KEYED,
        "reads.maps.all(k, k == 'z')",
        ["    read maps: 2 keys of ConfigMap objects, by key item.data.hosts"],
    ),
    (
        {**CONFIG_MAPS_READ, "namespace": "lab"},
        "reads.maps.size() > 2",
        ["    read maps: 2 ConfigMap objects: lab/x, lab/y"],
    ),
    (CONFIG_MAPS_READ, "reads.maps.size() > 2", ["    read maps: 0 ConfigMap objects"]),
]


@pytest.mark.parametrize(("read", "expression", "want"), SHOWN)
def test_objects_and_index(read: JSONObject, expression: str, want: list[str]) -> None:
    lines = explained(read, expression).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("    read "))
    assert lines[at : at + len(want)] == want
    assert not lines[at + len(want)].startswith("      [")


def test_as_json() -> None:
    text = explained(KEYED, "reads.maps['b'].size() > size(reads.maps['a'])", "--format", "json")
    (webhook,) = (each for each in json.loads(text)["webhooks"] if each["policies"])
    assert webhook["policies"][0]["reads"] == [
        {
            "name": "maps",
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "namespace": "any",
            "key": HOSTS,
            "keys": {"b": ["lab/x", "lab/y"], "a": ["lab/x"]},
        }
    ]
