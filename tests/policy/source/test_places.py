"""Where a field is written: in lists, in several documents, behind aliases and merges, in JSON."""

import pytest

from policyd.policy.source.splitting import split

YAML = """\
# first
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a, labels: {app: "web", b: , a.io/x: y}}
  spec:
    base: &base
      name: base
      image: &image nginx
    containers:
    - &first
      name: a
      image: 'x/a'   # comment
    - *first
    - <<: *base
      name: z
    - name: q
      image: *image
      args: [a, b,
        c]
      command:
      - |
        echo hi
      securityContext:
      resources: !!map {limits: {cpu: &cpu "1"}}
    - {<<: [*first, *base], <<: {name: merged}}
    initContainers: &lists [[1, 2], *base]
    others: *lists
    hostPID: true
---
# second
kind: Pod
apiVersion: v1
metadata:
  name: b
  "labels": {"app": x}
"""
# The document, a path, the line, and the text from the column on.
ROWS = [
    (0, "", 6, "apiVersion: v1"),
    (0, "metadata", 8, "metadata: {name: a,"),
    (0, "metadata.name", 8, "a, labels:"),
    (0, "metadata.labels", 8, 'labels: {app: "web"'),
    (0, "metadata.labels.app", 8, 'web", b:'),
    (0, "metadata.labels.b", 8, "b: , a.io/x"),
    (0, "metadata.labels[a.io/x]", 8, "y}}"),
    (0, "spec.hostPID", 32, "true"),
    (0, "spec.containers", 13, "containers:"),
    (0, "spec.containers[0]", 14, "&first"),
    (0, "spec.containers[0].image", 16, "x/a'   # comment"),
    (0, "spec.containers[3]", 20, "name: q"),
    (0, "spec.containers[3].args", 22, "args: [a, b,"),
    (0, "spec.containers[3].args[1]", 22, "b,"),
    (0, "spec.containers[3].args[2]", 23, "c]"),
    (0, "spec.containers[3].command", 24, "command:"),
    (0, "spec.containers[3].command[0]", 26, "echo hi"),
    (0, "spec.containers[3].securityContext", 27, "securityContext:"),
    (0, "spec.containers[3].resources", 28, "resources: !!map"),
    (0, "spec.containers[3].resources.limits.cpu", 28, '1"}}'),
    # What is not there: the nearest parent.
    (0, "status.phase", 6, "apiVersion: v1"),
    (0, "metadata.labels.zz", 8, 'labels: {app: "web"'),
    (0, "spec.containers[9].image", 13, "containers:"),
    (0, "spec.containers[3].securityContext.user", 27, "securityContext:"),
    (0, "spec.hostPID.x", 32, "true"),
    (0, "spec.containers.name", 13, "containers:"),
    # An alias has the place of its name or of its list; what it stands for, where it is written.
    (0, "spec.containers[1]", 13, "containers:"),
    (0, "spec.containers[1].missing", 13, "containers:"),
    (0, "spec.containers[1].image", 16, "x/a'   # comment"),
    (0, "spec.containers[3].image", 21, "image: *image"),
    (0, "spec.others", 31, "others: *lists"),
    (0, "spec.others[0][1]", 30, "2], *base]"),
    (0, "spec.others[1]", 31, "others: *lists"),
    (0, "spec.others[1].name", 11, "base"),
    # A merge: the first of a list wins, and the last of several.
    (0, "spec.containers[2].name", 19, "z"),
    (0, "spec.containers[2].image", 12, "nginx"),
    (0, "spec.containers[4].image", 16, "x/a'   # comment"),
    (0, "spec.containers[4].name", 29, "merged}}"),
    (1, "", 35, "kind: Pod"),
    (1, "metadata.name", 38, "b"),
    (1, "metadata.labels.app", 39, 'x}'),
    (1, "metadata.labels.x", 39, 'labels": {"app": x}'),
]  # fmt: skip


def at(text: str, place: tuple[int, int]) -> tuple[int, str]:
    line, column = place
    return line, text.split("\n")[line - 1][column - 1 :]


@pytest.mark.parametrize(("index", "path", "line", "rest"), ROWS)
@pytest.mark.parametrize("breaks", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_the_place_of_a_field_in_yaml(
    index: int, path: str, line: int, rest: str, breaks: str
) -> None:
    text = YAML.replace("\n", breaks)
    documents, problems = split("f.yaml", text.encode())
    assert not problems
    found = at(text, documents[index].field_place(path))
    assert found[0] == line
    assert found[1].startswith(rest), found[1]


JSON = """\
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
\t"spec": {"containers": [
  {"name": "x"}, {"name": "y",
"image": "z@"}]}} {"apiVersion": "v1",
"kind": "Pod", "spec": {"host": true, "a.b/c": null}}
"""
JSON_ROWS = [
    (0, "", 1, '{"apiVersion"'),
    (0, "spec", 2, 'spec": {"containers"'),
    (0, "spec.containers[0].name", 3, 'x"}, '),
    (0, "spec.containers[1]", 3, '{"name": "y"'),
    (0, "spec.containers[1].image", 4, "z"),
    (0, "spec.containers[1].ports", 3, '{"name": "y"'),
    (1, "", 4, '{"apiVersion": "v1",'),
    (1, "spec.host", 5, "true, "),
    (1, "spec[a.b/c]", 5, "null}}"),
]


@pytest.mark.parametrize(("index", "path", "line", "rest"), JSON_ROWS)
@pytest.mark.parametrize("image", ["", "\U0001f600", "\\ud83d\\ude00"], ids=ascii)
def test_the_place_of_a_field_in_json(
    index: int, path: str, line: int, rest: str, image: str
) -> None:
    """YAML has no escapes of surrogates, but the places are the same."""
    text = JSON.replace("@", image)
    documents, problems = split("f.json", text.encode())
    assert not problems
    found = at(text, documents[index].field_place(path))
    assert found[0] == line
    assert found[1].startswith(rest), found[1]


def test_what_a_program_made_has_no_place() -> None:
    ((document,), _) = split("f", b'{"apiVersion": "v1", "kind": "Pod", "spec": {}}', built=True)
    assert document.field_place("spec") == (0, 0)
