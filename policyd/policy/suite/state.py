"""What the policies of a case find in the cluster: params, namespaces and access rules, from the
suite, the case and its row. Evaluates nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from policyd.json_types import JSONObject
from policyd.policy.model.suite import AuthorizerRule, ClusterState
from policyd.policy.model.suite_cases import SuiteCase
from policyd.policy.source.loaded_documents import Document
from policyd.policy.suite.case_files import CaseError, objects
from policyd.policy.suite.reviews import namespace


@dataclass(frozen=True, slots=True)
class CaseState:
    """Objects that replace objects of the policies' documents with the same kind and name, for one
    case: ``objects`` are its params and the objects of its reads. ``authorizer`` replaces the rules
    of the suite; None: it does not. ``staged``: rollouts are as configured and not over; else all
    of them are. ``defaults``: the objects get the API server's.
    """

    objects: tuple[JSONObject, ...] = ()
    namespaces: tuple[JSONObject, ...] = ()
    authorizer: tuple[AuthorizerRule, ...] | None = None
    staged: bool = False
    defaults: bool = True


NO_STATE = CaseState()


def state_of(suite: Document, case: SuiteCase, *, defaults: bool) -> CaseState:
    """Return the state for a case; its ``states`` come from the suite, the case and the row. The
    last one wins. Without ``defaults`` the objects get none. Raises CaseError, and OSError for a
    paramsFile or readsFile that cannot be read.
    """
    states = case.states
    found = [obj for each in states for obj in _objects(suite, each)]
    namespaces = [
        namespace(one.name, one.labels, one.annotations)
        for each in states
        for one in each.namespaces
    ]
    rules: tuple[AuthorizerRule, ...] | None = None
    if any(each.authorizer is not None for each in states[1:]):
        rules = tuple(rule for each in reversed(states) for rule in each.authorizer or ())
    defaults = defaults or not found
    return CaseState(tuple(found), tuple(namespaces), rules, case.staged, defaults)


def _objects(suite: Document, state: ClusterState) -> Iterator[JSONObject]:
    for file in filter(None, (state.params_file, state.reads_file)):
        for obj in objects(suite, file):
            if not (obj.get("apiVersion") and obj.get("kind")):
                raise CaseError(f"{file}: an object has no apiVersion or kind")
            yield obj
    yield from state.params
    yield from state.reads
