"""Which source files a ConfigMap holds, and the suites in them."""

import gzip
import json

import pytest

from policyd.json_types import JSONObject
from policyd.policy.config_maps.config_map_files import bundle_of, config_map_of, slim
from policyd.policy.source.loader import load
from policyd.server.policies.policy_loader import PolicyLoader
from tests.builders.config_maps import BROKEN, forbidding, policy_map
from tests.builders.objects import config_map
from tests.builders.policies import suite


def test_keys_are_read_as_the_files_of_a_folder_are() -> None:
    made = policy_map(
        "team",
        {
            "a.yml": "# nothing\n",
            "c.json": json.dumps(forbidding("c")),
            "d.yaml.gz": gzip.compress(json.dumps(forbidding("d")).encode()),
            "e.txt": "kind: [",
            ".hidden.yaml": "kind: [",
        },
        b=forbidding("b"),
    )
    bundle = bundle_of(made)
    assert [each.name for each in bundle.files] == [
        "configmap/team/a.yml",
        "configmap/team/b.yaml",
        "configmap/team/c.json",
        "configmap/team/d.yaml.gz",
    ]
    assert bundle.problems == () and bundle.version == "1"
    assert [each.name for each in load([bundle]).documents] == ["b", "c", "d"]


def test_what_cannot_be_decoded_is_a_problem_of_its_key() -> None:
    made = policy_map("team", {"a.yaml.gz": b"no gzip"})
    made["binaryData"]["b.yaml"] = "?"
    found = [(each.file, each.rule) for each in bundle_of(made).problems]
    assert found == [
        ("configmap/team/b.yaml", "unreadable"),
        ("configmap/team/a.yaml.gz", "unreadable"),
    ]


def test_a_compressed_key_is_bounded() -> None:
    bomb = gzip.compress(b" " * (17 * 2**20))
    (problem,) = bundle_of(policy_map("team", {"a.yaml.gz": bomb})).problems
    assert "larger than 16 MiB" in problem.message


def test_compressed_keys_are_bounded_together_and_nothing_after_them_is_read() -> None:
    half = gzip.compress(b" " * (9 * 2**20))
    made = policy_map("team", {f"{key}.yaml.gz": half for key in "abcdefgh"})
    bundle = bundle_of(made)
    assert [each.name for each in bundle.files] == ["configmap/team/a.yaml.gz"]
    (problem,) = bundle.problems
    assert problem.file == "configmap/team/b.yaml.gz"
    assert "the keys of the ConfigMap are larger than 16 MiB together" in problem.message


def test_config_maps_are_bounded_together() -> None:
    made = policy_map("team", p=forbidding("one"))
    size = bundle_of(made).size
    assert bundle_of(made, size).problems == ()
    (problem,) = bundle_of(made, size - 1).problems
    assert "the ConfigMaps of policies are larger than 64 MiB together" in problem.message


TEXT = json.dumps(forbidding("one"))
KINDS: list[tuple[dict[str, bytes | str], str, str]] = [
    # keys, the file of the problem, a part of it
    ({"a.yaml.gz": TEXT}, "/a.yaml.gz", "expected gzip data, because the name of the key ends"),
    ({"a.yaml.gz": TEXT}, "/a.yaml.gz", "found a text in data"),
    ({"a.json.gz": TEXT.encode()}, "/a.json.gz", "found other binaryData"),
    ({"a.yaml": gzip.compress(b"x")}, "/a.yaml", "expected YAML or JSON, found gzip data"),
    ({"limits": TEXT}, "", "found no key that policyd reads, but 'limits'; expected a name that"),
]


@pytest.mark.parametrize(("keys", "file", "message"), KINDS)
def test_a_key_of_the_wrong_kind_names_the_one_found_and_the_one_expected(
    keys: dict[str, bytes | str], file: str, message: str
) -> None:
    bundle = bundle_of(policy_map("team", keys))
    (problem,) = bundle.problems
    assert (problem.file, bundle.files) == (f"configmap/team{file}", ())
    assert message in problem.message


def test_a_key_that_is_no_source_is_ignored_beside_one_that_is() -> None:
    assert bundle_of(policy_map("team", {"README": "x"}, p=forbidding("one"))).problems == ()
    assert bundle_of(policy_map("team")).problems == ()


def test_a_policy_of_two_config_maps_is_an_error_that_names_both() -> None:
    bundles = [bundle_of(policy_map(name, p=forbidding("same"))) for name in ("a", "b")]
    (problem,) = load(bundles).problems
    assert problem.file == "configmap/b/p.yaml"
    assert "Policy same is defined twice: first in configmap/a/p.yaml:1" in problem.message


def test_only_what_is_read_is_kept() -> None:
    made = policy_map("team", a=forbidding("a"))
    made["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "x"}
    made["metadata"]["managedFields"] = [{}]
    kept = slim(made)
    names = ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"]
    assert sorted(kept["metadata"]) == names
    assert bundle_of(kept) == bundle_of(made)


def test_a_bundle_becomes_the_same_bundle_again() -> None:
    made = bundle_of(policy_map("team", {"b.yaml.gz": gzip.compress(b"{}")}, a=forbidding("a")))
    again = bundle_of(config_map_of(made))
    assert again == made and again.digest == made.digest
    assert again.files[0].beside == made.files[0].beside


def case(**request: object) -> JSONObject:
    return {"name": "one", "request": request, "expect": {"allowed": False}}


BAD = config_map(data={"bad": "x"})


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"cases": [case(object=BAD)]}, ""),
        ({"cases": [case(objectFile="bad.yaml")]}, ""),
        ({"cases": [case(objectFile="./bad.yaml")], "policies": ["p.yaml"]}, ""),
        ({"cases": [case(object=BAD)], "policies": ["."]}, ""),
        ({"cases": [case(object=BAD)], "policies": ["packed.yaml.gz"]}, ""),
        ({"cases": [case(object=config_map())]}, "case 'one' failed: unexpected"),
        ({"cases": [case(objectFile="none.yaml")]}, "the case cannot be run"),
        ({"cases": [case(objectFile="/etc/hostname")]}, "the case cannot be run"),
        ({"cases": [case(objectFile="../other/p.yaml")]}, "the case cannot be run"),
        ({"cases": [case(object=BAD)], "policies": ["none.yaml"]}, "did you mean"),
        ({"cases": [case(object=BAD)], "policies": ["../other/p.yaml"]}, "outside of configmap/t"),
    ],
)
def test_a_suite_runs_with_the_files_of_its_own_config_map(fields: JSONObject, error: str) -> None:
    packed = gzip.compress(json.dumps(forbidding("packed")).encode())
    made = policy_map(
        "t", {"packed.yaml.gz": packed}, p=forbidding("p"), suite=suite(**fields), bad=BAD
    )
    other = policy_map("other", p=forbidding("q", "worse"))
    found = PolicyLoader().load([bundle_of(made), bundle_of(other)])
    assert found.policies.problems == ()
    failures = [str(each) for each in found.failures]
    assert [error in each for each in failures] == ([True] if error else [])


def test_problems_show_the_place_in_the_key() -> None:
    text = json.dumps(BROKEN, indent=1)
    found = PolicyLoader().load([bundle_of(policy_map("t", ok=forbidding("ok"), x=text))])
    (problem,) = found.policies.problems
    assert problem.file == "configmap/t/x.yaml" and problem.line > 1 and problem.excerpt
