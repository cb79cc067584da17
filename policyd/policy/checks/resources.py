"""Check the resources of a match rule: those that are empty, and wildcards that overlap."""

from collections.abc import Iterator, Sequence


def overlaps(resources: Sequence[str]) -> Iterator[tuple[int | None, str]]:
    """Yield what is wrong with a resource, by its index (None: with all of them): ``r/*`` with a
    later ``r/s``, ``*/s`` with a later ``r/s``, ``*`` and ``*/*`` with others. "": it is empty.
    """
    all_subresources: set[str] = set()  # r of r/*
    all_parents: set[str] = set()  # s of */s
    plain_last = False  # as the API server: only the last resource without a slash decides
    for index, resource in enumerate(resources):
        if not resource:
            yield index, ""
            continue
        parent, slash, sub = resource.partition("/")
        if not slash:
            plain_last = resource != "*"
            continue
        for overlap, present in (
            (f"{parent}/*", parent in all_subresources),
            (f"*/{sub}", sub in all_parents),
        ):
            if present:
                yield index, f"if '{overlap}' is present, must not specify {resource}"
        if sub == "*":
            all_subresources.add(parent)
        if parent == "*":
            all_parents.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        yield None, "if '*/*' is present, must not specify other resources"
    if "*" in resources and plain_last:
        yield (
            None,
            "if '*' is present, must not specify other resources without subresources",
        )
