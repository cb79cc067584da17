"""``serve --last-good``: a start with broken policies serves those that loaded last."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from policyd.cel.syntax.recursion import deep_recursion
from policyd.cli import policyd
from policyd.errors import ConfigError
from policyd.json_types import JSONObject
from policyd.policy.source.loader import load, load_saved
from policyd.server.policies.last_good import content_of
from policyd.server.policies.policy_loader import PolicyLoader
from policyd.versions import NEWEST
from tests.builders.objects import config_map, gadget_definition
from tests.builders.policies import (
    CONFIG_MAPS,
    demand,
    labelling,
    map_,
    map_binding,
    policy,
    suite,
    vap,
)
from tests.server.config_maps import message, shown
from tests.server.process import Process, until
from tests.server.serve import serving

BROKEN = policy("good", CONFIG_MAPS, validation=[])


def denying(message: str) -> JSONObject:
    return policy("good", CONFIG_MAPS, validations=[demand("!has(object.data.bad)", message)])


def write(folder: Path, **contents: JSONObject | list[JSONObject] | str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        listed = content if isinstance(content, list) else [content]
        texts = [each if isinstance(each, str) else json.dumps(each) for each in listed]
        new = folder / f".{name}.new"
        new.write_text("\n---\n".join(texts))
        new.rename(folder / f"{name}.yaml")
    return folder


@contextmanager
def keeping(folder: Path, sources: Path, *flags: str) -> Iterator[Process]:
    """A server that keeps its policies in ``kept`` of the folder."""
    with serving(folder, sources, "--last-good", str(folder / "kept"), *flags) as server:
        yield server


@pytest.mark.parametrize(
    "broken",
    [
        BROKEN,
        "kind: [",
        "",
        policy("good", matchConstraints=...),
        [policy("good", CONFIG_MAPS), policy("other", validations=[{"expression": "object."}])],
        [policy("good", CONFIG_MAPS), suite(policies=["nowhere.yaml"])],
    ],
)
def test_a_broken_start_serves_the_last_good_policies(
    tmp_path: Path, broken: JSONObject | list[JSONObject] | str
) -> None:
    sources = write(tmp_path / "policies", a=denying("the first"))
    with keeping(tmp_path, sources) as server:
        assert shown(server)["servesLastGood"] is False
        assert server.metric("policyd_serving_last_good") == 0
        assert server.terminate() == 0
    write(sources, a=broken)
    with keeping(tmp_path, sources) as server:
        assert message(server, bad="x") == "policy 'good' denied request: the first"
        assert message(server) == ""
        assert server.get("/readyz") == (200, "ok")
        assert shown(server)["servesLastGood"] is True
        assert [each["state"] for each in shown(server)["policies"]] == ["active"]
        assert shown(server)["policies"][0]["source"] == f"{sources}/a.yaml"
        assert server.metric("policyd_serving_last_good") == 1
        assert server.metric('policyd_reloads_total{result="error"}') == 1
        (line,) = server.lines("reload")
        assert line["level"] == "error" and line["errors"]
        assert f"the last good policies, kept in {tmp_path}/kept, are served" in line["message"]
        write(sources, a=denying("the second"))
        until(lambda: message(server, bad="x").endswith("the second"), "the mended policies")
        assert shown(server)["servesLastGood"] is False
        assert server.metric("policyd_serving_last_good") == 0


def test_the_same_policies_again_end_the_emergency(tmp_path: Path) -> None:
    sources = write(tmp_path / "policies", a=denying("the first"))
    with keeping(tmp_path, sources):
        pass
    write(sources, a=BROKEN)
    with keeping(tmp_path, sources) as server:
        assert shown(server)["servesLastGood"] is True
        write(sources, a=denying("the first"))
        until(lambda: shown(server)["servesLastGood"] is False, "the mended policies")
        assert message(server, bad="x").endswith("the first")


def test_what_a_reload_brings_is_kept_and_what_it_refuses_is_not(tmp_path: Path) -> None:
    sources = write(tmp_path / "policies", a=denying("the first"))
    with keeping(tmp_path, sources) as server:
        write(sources, a=denying("the second"))
        until(lambda: message(server, bad="x").endswith("the second"), "the reload")
        until(lambda: "the second" in (tmp_path / "kept").read_text(), "the file")
        write(sources, a=BROKEN)
        until(lambda: not shown(server)["lastReload"]["succeeded"], "the refusal")
    with keeping(tmp_path, sources) as server:
        assert message(server, bad="x").endswith("the second")
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.glob(".kept*")] == []


def test_all_documents_but_suites_are_kept(tmp_path: Path) -> None:
    documents = [
        denying("no"),
        map_("m", CONFIG_MAPS, mutations=[labelling("a", "'b'")]),
        map_binding(),
        gadget_definition(),
    ]
    documents += [config_map("team"), suite(policies=["a.yaml"], cases=[CASE])]
    sources = write(tmp_path / "policies", a=denying("no"), b=[*documents[1:], vap("v")])
    with keeping(tmp_path, sources) as server:
        assert server.lines("reload")[0].get("errors") is None
    head, *lines = (tmp_path / "kept").read_text().splitlines()
    assert json.loads(head) == {"form": "last-good policies 1"}
    kept = [json.loads(line)["object"] for line in lines]
    assert kept == [*documents[:-1], vap("v")]
    write(sources, a="kind: [")
    with keeping(tmp_path, sources) as server:
        names = [(each["kind"], each["name"]) for each in shown(server)["policies"]]
        assert names == [
            ("Policy", "good"),
            ("MutatingAdmissionPolicy", "m"),
            ("ValidatingAdmissionPolicy", "v"),
        ]


CASE: JSONObject = {
    "name": "denied",
    "request": {"object": config_map(data={"bad": "x"})},
    "expect": {"allowed": False},
}


def test_values_survive_as_they_were_read(tmp_path: Path) -> None:
    deep = "{a: " * 990 + "1" + "}" * 990
    values = f"[1e3, 0.1, -0.0, 2020-01-01, 123456789012345678901234567890, 'ü', {deep}]"
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {values}"
    sources = write(tmp_path / "policies", a=text, b=denying("no"))
    loader = PolicyLoader(keep=True)
    image = loader.load([sources]).image
    restored = loader.restore(image).policies
    assert [each.name for each in restored.policies] == ["good"]
    (read, _), (kept, _) = (
        list(each)
        for each in (
            load([sources]).documents,
            load_saved(content_of(image).objects, version=NEWEST).documents,
        )
    )
    with deep_recursion():
        assert repr(read.raw) == repr(kept.raw)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (None, ""),
        ("", "content is damaged"),
        ("not JSON", "content is damaged"),
        ('{"form": "policyd last-good 2"}', "content is damaged"),
        ('{"form": "last-good policies 1"}\n{"file": "a", "obj', "content is damaged"),
        ('{"form": "last-good policies 1"}\n{"file": "a", "object": 5}', "must be an object"),
        ('{"form": "last-good policies 1"}\n{"file": 5, "object": {}}', "content is damaged"),
        ('{"form": "last-good policies 1"}\n', ""),
    ],
)
def test_without_usable_content_a_broken_policy_follows_its_failure_policy(
    tmp_path: Path, content: str | None, error: str
) -> None:
    if content is not None:
        (tmp_path / "kept").write_text(content)
    with keeping(tmp_path, write(tmp_path / "policies", a=BROKEN)) as server:
        assert "failed to configure policy: " in message(server)
        assert shown(server)["servesLastGood"] is False
        lines = server.lines("last-good")
        assert [error in line["message"] for line in lines] == ([True] if error else [])
    # A broken set never replaces what is kept.
    kept = tmp_path / "kept"
    assert (kept.read_text() if kept.exists() else None) == content


def test_a_file_that_cannot_be_written_is_an_error_in_the_log(tmp_path: Path) -> None:
    sources = write(tmp_path / "policies", a=denying("no"))
    folder = tmp_path / "gone"
    folder.mkdir()
    kept = str(folder / "kept")
    with serving(tmp_path, sources, "--last-good", kept) as server:
        (folder / "kept").unlink()
        folder.rmdir()
        write(sources, a=denying("the second"))
        until(lambda: server.lines("last-good"), "the error")
        assert message(server, bad="x").endswith("the second")
        assert "cannot be written: No such file" in server.lines("last-good")[0]["message"]


@pytest.mark.parametrize(
    ("file", "error"),
    [
        ("policies/kept", "must not be among the policies"),
        ("policies", "expected a file in an existing directory"),
        ("nowhere/kept", "expected a file in an existing directory"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, file: str, error: str) -> None:
    sources = write(tmp_path / "policies", a=denying("no"))
    arguments = ["serve", "-p", str(sources), "--self-signed", "--last-good", str(tmp_path / file)]
    done = CliRunner().invoke(policyd, arguments)
    assert isinstance(done.exception, ConfigError) and error in str(done.exception)
