"""Mistakes that a type checker must find: each line says which error is wanted."""

from typing import Any

import policyd
from policyd import Lookups, PolicySet, PolicyViolation, ReviewResult, build_review


class Partly:
    async def namespace(self, name: str) -> dict[str, Any]:
        return {"metadata": {"name": name}}


def mistakes(policies: PolicySet, result: ReviewResult, violation: PolicyViolation) -> None:
    print(policyd.Engine)  # want: attr-defined
    PolicySet.load(1)  # want: arg-type
    PolicySet.load("a", kubernetes_version=1.36)  # want: arg-type
    PolicySet.from_documents(1)  # want: arg-type
    print(policies.for_suite)  # want: attr-defined
    policies.review("{}")  # want: arg-type
    policies.review(b"", "both")  # want: arg-type
    policies.review_bytes({})  # want: arg-type
    policies.evaluate(b"", "validate", 1)  # want: call-arg
    result.allowed = True  # want: misc
    violation.message = ""  # want: misc
    print(result.status)  # want: attr-defined
    build_review({}, operation="PATCH")  # want: arg-type
    build_review({}, None, "CREATE", "ann")  # want: call-arg
    lookups: Lookups = Partly()  # want: assignment
    policyd.asgi(lookups)  # want: arg-type
