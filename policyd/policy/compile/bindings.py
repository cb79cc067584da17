"""Find the bindings of each policy, and those that cannot be used. Compiles none."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from policyd.errors import Problem
from policyd.policy.model.findings import FormProblem
from policyd.policy.model.kinds import POLICY_KINDS, AnyBinding
from policyd.policy.source.loaded_documents import Document, Sources

_SUFFIX = "Binding"
_Key = tuple[str, str]  # kind and name of a policy


class PolicyBindings:
    """The bindings among the documents, by the policies that they name."""

    def __init__(self, sources: Sources) -> None:
        self._usable: dict[_Key, list[Document]] = {}
        self._broken: dict[_Key, list[Document]] = {}
        for document in sources.documents:
            if document.is_policy and document.kind.endswith(_SUFFIX):
                usable = isinstance(document.model, AnyBinding)
                group = self._usable if usable else self._broken
                key = (document.kind.removesuffix(_SUFFIX), policy_name(document))
                group.setdefault(key, []).append(document)
        for found in self._usable.values():
            found.sort(key=lambda document: document.name)
        self._lost = any(not name for _, name in self._broken) or _lost(sources)

    def of(self, policy: Document) -> list[Document]:
        """Return the usable bindings of a policy, sorted by their own names."""
        return self._usable.get((policy.kind, policy.name), [])

    def broken(self, policy: Document) -> list[Document]:
        """Return the bindings that name the policy and cannot be used."""
        return self._broken.get((policy.kind, policy.name), [])

    def may_bind(self, policy: Document) -> bool:
        """Whether the policy has an effect: it needs no binding, has one, or one may be lost."""
        key = (policy.kind, policy.name)
        own = policy.kind == "Policy"
        return own or self._lost or key in self._usable or key in self._broken

    def missing(self, document: Document) -> Iterator[FormProblem]:
        """Yield what is wrong with a policy that has no effect for want of a binding."""
        policy = document.is_policy and document.kind in POLICY_KINDS
        if policy and not self.may_bind(document):
            yield FormProblem(
                ("metadata", "name"),
                f"no binding: without a {document.kind}{_SUFFIX} the policy has no effect",
                "add a binding, or use a policyd.dev/v1 Policy, which needs none",
                rule="no-binding",
            )


def unbound(sources: Sources) -> Iterator[Problem]:
    """Yield advice on the policies that have no effect for want of a binding."""
    bindings = PolicyBindings(sources)
    for document in sources.documents:
        for missing in bindings.missing(document):
            yield document.problem(missing, "advice")


def problems_of(documents: Iterable[Document]) -> list[Problem]:
    """Return the problems of broken bindings or rollouts, worded as problems of their policy."""
    return [of_policy(each, problem) for each in documents for problem in each.problems]


def of_policy(document: Document, problem: Problem) -> Problem:
    """Return a problem of a document that a policy depends on as one of the policy."""
    return replace(problem, path=f"{document.label} {problem.path}".rstrip())


def policy_name(document: Document) -> str:
    """Return the name of the policy of a binding or Rollout; empty if it cannot be read."""
    name = document.spec.get("policyName")
    return name if isinstance(name, str) else ""


def _lost(sources: Sources) -> bool:
    """Whether some text of the sources could not be read as documents: it may be a binding."""
    known = {
        each for document in sources.documents if document.is_policy for each in document.problems
    }
    return any(problem not in known for problem in sources.problems)
