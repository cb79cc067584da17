"""A cluster that knows nothing; those of tests know more. No tests here."""

from typing import Any

from policyd.admission.authorizer import AccessDecision, Attributes, Failure
from policyd.admission.lookup_params import KindOf, ParamsOf
from policyd.policy.live.reach import Served

Json = dict[str, Any]


class Ignorant:
    """Every question fails."""

    async def may(self, asked: Attributes) -> AccessDecision | Failure:
        return Failure("nobody asked for users")

    async def namespace(self, name: str) -> Json | Failure:
        return Failure("nobody asked for namespaces")

    def known_namespace(self, name: str) -> Json | None:
        return None

    async def kind(self, question: KindOf) -> tuple[Served, ...] | Failure:
        return Failure("nobody asked for kinds")

    def known_kind(self, question: KindOf) -> tuple[Served, ...] | None:
        return None

    async def params(self, question: ParamsOf) -> tuple[Json, ...] | Failure:
        return Failure("nobody asked for params")

    def known_params(self, question: ParamsOf) -> tuple[Json, ...] | None:
        return None
