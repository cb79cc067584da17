"""Made-up Pods, and overlays that have much in common with them. No tests here."""

from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c"])
PREPEND = {"$patch": "prepend"}
LABELS = st.dictionaries(st.sampled_from(["a", "x/y", "t~u"]), NAMES, max_size=2)
ENV = st.lists(st.fixed_dictionaries({"name": NAMES}, optional={"value": NAMES}), max_size=3)
PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.sampled_from([80, 81])},
        optional={"protocol": st.sampled_from(["TCP", "UDP"]), "name": NAMES},
    ),
    max_size=3,
)
SECURITY = st.fixed_dictionaries(
    {},
    optional={
        "privileged": st.booleans(),
        "runAsUser": st.integers(0, 2),
        "capabilities": st.fixed_dictionaries(
            {}, optional={"drop": st.lists(NAMES, max_size=2), "add": st.lists(NAMES, max_size=2)}
        ),
    },
)
RESOURCES = st.fixed_dictionaries(
    {},
    optional={
        "limits": st.dictionaries(st.sampled_from(["cpu", "memory"]), st.just("1"), max_size=2),
        "requests": st.dictionaries(st.sampled_from(["cpu", "memory"]), st.just("2"), max_size=2),
    },
)
# Names may be there twice: the API server validates after it mutates.
CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "image": st.sampled_from(["a", "b", "a/b:c"]),
            "args": st.lists(NAMES, max_size=2),
            "env": ENV,
            "ports": PORTS,
            "stdin": st.booleans(),
            "securityContext": SECURITY,
            "resources": RESOURCES,
        },
    ),
    max_size=3,
)
TOLERATIONS = st.lists(st.fixed_dictionaries({"key": NAMES}), max_size=2)
PODS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("v1"),
        "kind": st.just("Pod"),
        "metadata": st.fixed_dictionaries(
            {"name": st.just("p"), "namespace": st.just("default")},
            optional={
                "labels": LABELS,
                "annotations": LABELS,
                "finalizers": st.lists(st.sampled_from(["f/a", "f/b"]), max_size=3),
            },
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": CONTAINERS,
                "initContainers": CONTAINERS,
                "nodeSelector": LABELS,
                "hostNetwork": st.booleans(),
                "tolerations": TOLERATIONS,
                "securityContext": st.fixed_dictionaries(
                    {}, optional={"runAsUser": st.integers(0, 2), "runAsNonRoot": st.booleans()}
                ),
            },
        ),
    }
)


def marked(name: str, values: st.SearchStrategy[Any]) -> list[tuple[str, st.SearchStrategy[Any]]]:
    """A key that is set, added or removed."""
    return [(name, values | st.none()), (f"+({name})", values)]


def members(*alternatives: list[tuple[str, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Any]:
    """A map with at most one of the keys of each alternative."""

    def of(choices: tuple[int, ...]) -> st.SearchStrategy[Any]:
        keys = [each[at] for each, at in zip(alternatives, choices, strict=True) if at < len(each)]
        return st.fixed_dictionaries(dict(keys))

    return st.tuples(*(st.integers(0, 2 * len(each)) for each in alternatives)).flatmap(of)


def also_prepended(items: st.SearchStrategy[list[Any]]) -> st.SearchStrategy[list[Any]]:
    """The list, with or without the mark that new items go first."""
    return items | items.map(lambda found: [PREPEND, *found])


VALUE = NAMES | st.sampled_from(
    [
        "${object.metadata.name}",
        "x-${object.metadata.name}",
        "${object.metadata.?labels.?a}",
        "${request.operation}",
        "${object.spec.hostname}",
    ]
)
OVERLAID_LABELS = members(marked("a", VALUE), marked("x/y", NAMES), marked("t~u", NAMES))
ADDED = st.tuples(st.sampled_from(["append", "prepend"]), st.lists(NAMES, max_size=2)).map(
    lambda found: [{"$patch": found[0]}, *found[1]]
)
OVERLAID_SECURITY = members(
    marked("privileged", st.booleans()),
    marked("runAsUser", st.integers(0, 2)),
    [
        (
            "capabilities",
            members(marked("drop", st.lists(NAMES, max_size=2)), [("add", ADDED)]),
        )
    ],
)
CONDITIONS: list[list[tuple[str, st.SearchStrategy[Any]]]] = [
    [("(name)", NAMES | st.sampled_from(["*", "a|b", "!a", "?"]))],
    [("(image)", st.sampled_from(["a*", "*b", "*/*:*", "?*"])), ("X(image)", st.none())],
    [("=(stdin)", st.booleans()), ("X(stdin)", st.none()), ("(stdin)", st.booleans())],
    [
        ("^(ports)", st.just([{"containerPort": ">80"}])),
        ("=(ports)", st.just([{"protocol": "TCP"}])),
    ],
    [("=(securityContext)", st.just({"=(privileged)": False}))],
]
PORT_ITEMS = st.lists(
    members(
        [("containerPort", st.just(80))],
        [("protocol", st.sampled_from(["TCP", "UDP"]))],
        [("(protocol)", st.just("TCP"))],
        marked("name", NAMES),
    ),
    max_size=2,
)
FIELDS = [
    marked("image", VALUE),
    marked("stdin", st.booleans()),
    [("args", st.lists(NAMES, max_size=2) | ADDED)],
    [("securityContext", OVERLAID_SECURITY), ("+(securityContext)", st.just({"privileged": True}))],
    [
        (
            "env",
            also_prepended(
                st.lists(
                    st.fixed_dictionaries({"name": NAMES}, optional={"value": NAMES}), max_size=2
                )
            ),
        )
    ],
    [("ports", PORT_ITEMS)],
    [
        (
            "resources",
            members(
                [("limits", members(marked("cpu", st.just("3")), [("X(memory)", st.none())]))],
                [("requests", members(marked("memory", st.just("4"))))],
            ),
        )
    ],
]
CHANGED_ITEM = members(*CONDITIONS, *FIELDS)
DELETED_ITEM = members(*CONDITIONS, [("$patch", st.just("delete"))])
NAMED_ITEM = members([("name", NAMES)], *CONDITIONS, *FIELDS, [("$patch", st.just("delete"))])
OVERLAID_CONTAINERS = also_prepended(
    st.lists(CHANGED_ITEM | DELETED_ITEM | NAMED_ITEM, min_size=1, max_size=2)
)
OVERLAYS = st.fixed_dictionaries(
    {},
    optional={
        "metadata": members(
            [("labels", OVERLAID_LABELS), ("+(labels)", LABELS)],
            [("annotations", OVERLAID_LABELS)],
            [("finalizers", also_prepended(st.lists(st.sampled_from(["f/a", "f/b"]), max_size=2)))],
        ),
        "spec": members(
            [("containers", OVERLAID_CONTAINERS)],
            [
                ("initContainers", OVERLAID_CONTAINERS),
                ("^(initContainers)", st.just([{"name": "a"}])),
            ],
            [("nodeSelector", OVERLAID_LABELS), ("+(nodeSelector)", LABELS)],
            marked("hostNetwork", st.booleans()),
            [
                ("tolerations", TOLERATIONS.map(lambda found: [{"$patch": "append"}, *found])),
                ("tolerations", TOLERATIONS.map(lambda found: [PREPEND, *found])),
            ],
            marked("securityContext", st.just({})),
            [("=(hostNetwork)", st.booleans()), ("<(hostNetwork)", st.booleans())],
        ),
    },
)
