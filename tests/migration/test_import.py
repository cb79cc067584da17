"""``policyd import --cluster``: what is read, what becomes of it, and what cannot be read."""

import json
from pathlib import Path

import click
import pytest
import yaml

from policyd.cluster import listing
from policyd.errors import ConfigError
from policyd.importers.provenance import FROM
from policyd.migration import live_policies
from tests.cluster.contents import Contents
from tests.cluster.fake import ApiServer, refusal
from tests.importers.kyverno.classic import cluster_policy, pattern
from tests.migration.conftest import Run
from tests.migration.engines import (
    CLEANUPS,
    CLUSTER_POLICIES,
    CONSTRAINTS,
    EXCEPTIONS,
    LABELS,
    POLICIES,
    TEMPLATES,
    VPOLS,
    added,
    config_map_rule,
    labels_exempting,
    template_spec,
    vpol_spec,
)


def test_the_policies_of_all_engines_are_imported_with_their_sources(
    contents: Contents, run: Run, server: ApiServer
) -> None:
    added(contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    added(contents, EXCEPTIONS, "legacy", "team-a", spec=labels_exempting("labels"))
    added(contents, POLICIES, "own", "team-a", spec=LABELS)
    added(contents, CLEANUPS, "old-jobs", spec={"schedule": "0 0 * * *"})
    added(contents, VPOLS, "named", spec=vpol_spec())
    added(contents, TEMPLATES, "k8snolatest", spec=template_spec())
    added(contents, CONSTRAINTS, "no-latest", spec={})
    done = run("import", "--cluster")
    assert done.exit_code == 0, done.output
    made = {each["metadata"]["name"]: each for each in yaml.safe_load_all(done.stdout)}
    assert sorted(made) == ["labels", "named", "no-latest", "team-a-own"]
    source = made["labels"]["metadata"]["annotations"][FROM]
    assert source.startswith("ClusterPolicy/labels uid=uid-labels resourceVersion=1 content=")
    assert [each["name"] for each in made["labels"]["spec"]["exceptions"]] == ["legacy"]
    rows = [line.split() for line in done.stderr.splitlines()]
    assert ["imported", "Policy", "team-a/own", "policies.kyverno.io/own"] in rows
    assert ["not", "imported", "ClusterCleanupPolicy", "old-jobs"] in [row[:4] for row in rows]
    assert "5 policies: 4 imported, 1 not imported" in done.stderr
    listed = [call.path.partition("?")[0] for call in server.calls if "limit=" in call.path]
    assert len(listed) == len(set(listed))  # in one version
    assert not any("updaterequests" in path for path in listed)


def test_files_of_policies_have_the_name_of_the_source(contents: Contents, run: Run) -> None:
    added(contents, POLICIES, "own", "team-a", spec=LABELS)
    assert run("import", "--cluster", "-o", "out").exit_code == 0
    assert [each.name for each in Path("out").iterdir()] == ["team-a-own.yaml"]
    text = Path("out/team-a-own.yaml").read_text()
    assert text.startswith("# Imported from Policy team-a/own\n")


def test_a_namespace_has_its_policies_and_their_exceptions_of_any_namespace(
    contents: Contents, run: Run, server: ApiServer
) -> None:
    added(contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    added(contents, POLICIES, "own", "team-a", spec=LABELS)
    added(contents, POLICIES, "other", "team-b", spec=LABELS)
    added(contents, EXCEPTIONS, "legacy", "exceptions", spec=labels_exempting("team-a/own"))
    added(contents, EXCEPTIONS, "foreign", "exceptions", spec=labels_exempting("labels"))
    done = run("import", "--cluster", "-n", "team-a", "--format", "json")
    (found,) = json.loads(done.stdout)
    assert (found["name"], found["state"], found["line"]) == ("own", "imported", 0)
    assert [each["name"] for each in found["documents"][0]["spec"]["exceptions"]] == ["legacy"]
    assert not any(call.path.startswith(CLUSTER_POLICIES) for call in server.calls)


def test_all_pages_are_read(contents: Contents, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    for number in range(5):
        added(contents, CLUSTER_POLICIES, f"labels-{number}", spec=LABELS)
    assert len(json.loads(run("import", "--cluster", "--format", "json").stdout)) == 5
    monkeypatch.setattr(live_policies, "MOST_OBJECTS", 4)
    with pytest.raises(
        ConfigError, match=r"more than 4 policies and exceptions\n  hint: .* \(-n\)"
    ):
        run("import", "--cluster")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (EXCEPTIONS, "cannot list policyexceptions.kyverno.io: the API server answered 403: no"),
        (f"{EXCEPTIONS}?", "this needs the permission to list policyexceptions.kyverno.io"),
        ("/apis/kyverno.io/v2?", "cannot list the resources of /apis/kyverno.io/v2"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_permission(
    contents: Contents, run: Run, path: str, told: str
) -> None:
    added(contents, CLUSTER_POLICIES, "labels", spec=LABELS)
    refused = path.rstrip("?")
    contents.special = lambda call: (
        refusal(403, "no") if call.path.partition("?")[0] == refused else None
    )
    done = run("import", "--cluster")
    assert done.exit_code == 3
    assert told in " ".join(done.stderr.split())
    assert "1 policy: 1 imported" in done.stderr


@pytest.mark.parametrize("gone", ["/apis/kyverno.io/v2", EXCEPTIONS])
def test_kinds_that_are_deleted_meanwhile_have_no_objects(
    contents: Contents, run: Run, gone: str
) -> None:
    """Discovery lists the kinds of an engine for some seconds after Helm has uninstalled it."""
    contents.add(CLUSTER_POLICIES, "labels", spec=LABELS)
    contents.special = lambda call: (
        refusal(404, "Not Found") if call.path.partition("?")[0] == gone else None
    )
    done = run("import", "--cluster", "-o", "policies")
    assert done.exit_code == 0
    assert "cannot" not in done.stderr


def test_a_volume_of_a_pattern_names_no_config_map(contents: Contents, run: Run) -> None:
    volumes = [{"name": "v", "configMap": {"name": "absent"}}]
    spec = cluster_policy(pattern({"spec": {"volumes": volumes}}))["spec"]
    added(contents, CLUSTER_POLICIES, "volumes", spec=spec)
    assert run("import", "--cluster").exit_code == 0


def test_a_config_map_that_a_policy_names_must_exist(contents: Contents, run: Run) -> None:
    for name in ("there", "absent"):
        spec = cluster_policy(config_map_rule(name))["spec"]
        added(contents, CLUSTER_POLICIES, f"uses-{name}", spec=spec)
    contents.add("/api/v1/configmaps", "there", "a", data={"forbidden": "x"})
    done = run("import", "--cluster")
    assert done.exit_code == 3
    told = "error: the cluster does not have the ConfigMap a/absent, which ClusterPolicy uses-absent names"
    assert told in " ".join(done.stderr.split())
    assert "2 policies: 2 imported" in done.stderr
    assert done.stderr.count("error") == 1
    contents.special = lambda call: refusal(403, "no") if "configmaps" in call.path else None
    done = run("import", "--cluster")
    assert done.exit_code == 3
    assert "this needs the permission to get configmaps" in done.stderr


def test_kinds_are_those_that_the_cluster_serves(contents: Contents, run: Run) -> None:
    contents.served = {
        **contents.served,
        ("sales.example", "v1"): (("oxen", "Ox", True),),
    }
    spec = cluster_policy(pattern({"metadata": {"name": "?*"}}, "Ox"))["spec"]
    added(contents, CLUSTER_POLICIES, "oxen", spec=spec)
    (found,) = json.loads(run("import", "--cluster", "--format", "json").stdout)
    assert (found["state"], found["remarks"]) == ("imported", [])
    (resources,) = found["documents"][0]["spec"]["matchConstraints"]["resourceRules"]
    assert (resources["apiGroups"], resources["resources"]) == (["sales.example"], ["oxen"])


def test_a_cluster_without_policies_is_an_error(run: Run, contents: Contents) -> None:
    with pytest.raises(ConfigError, match="no policies to import in the cluster\n  hint: policyd"):
        run("import", "--cluster")
    contents.special = lambda call: refusal(500, "broken") if call.path == "/apis" else None
    with pytest.raises(ConfigError, match="cannot discover the cluster's resources"):
        run("import", "--cluster")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), r"Missing argument 'PATHS...' \(or --cluster\)"),
        (("--cluster", "."), "--cluster cannot be combined with PATHS and --verify"),
        (("--cluster", "--verify"), "--cluster cannot be combined with PATHS and --verify"),
        (("-n", "a", "."), "--namespace and --since need --cluster"),
        (("--since", ".", "."), "--namespace and --since need --cluster"),
    ],
)
def test_options_that_do_not_go_together(run: Run, flags: tuple[str, ...], told: str) -> None:
    done = run("import", *flags)
    assert done.exit_code == click.UsageError.exit_code
    assert told.replace("\\", "") in done.stderr


def test_the_role_lists_each_group_and_reads_config_maps(run: Run, server: ApiServer) -> None:
    role = yaml.safe_load(run("import", "--print-rbac").stdout)
    assert role["kind"] == "ClusterRole"
    policies, config_maps = role["rules"]
    assert {"kyverno.io", "policies.kyverno.io", "constraints.gatekeeper.sh"} <= {
        *policies["apiGroups"]
    }
    assert (policies["verbs"], config_maps["verbs"]) == (["list"], ["get"])
    assert server.calls == []
