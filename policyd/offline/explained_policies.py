"""The policies that a suite tests, with explanations: responds like the policies, and passes the
story of each call to a function. Slower than ``suite_policies``; off the request path.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from policyd.admission.lookups.authorizer import Authorizer
from policyd.json_types import JSONObject
from policyd.offline.explaining import Explainer
from policyd.offline.stories import WebhookStory
from policyd.offline.suite_policies import (
    CaseNotes,
    at_stage,
    authorizer_in,
    suite_authorizer,
    suite_sources,
    together,
    with_state,
)
from policyd.policy.model.suite import Webhook
from policyd.policy.source.loaded_documents import Document, Sources
from policyd.policy.suite.expectations import CaseAnswer
from policyd.policy.suite.runner import Admit, Completed
from policyd.policy.suite.state import CaseState

TakeStory = Callable[[WebhookStory], None]


@dataclass(frozen=True, slots=True)
class ExplainedPolicies:
    """Responds like ``SuitePolicies``; ``take`` gets the story of each webhook."""

    explainer: Explainer
    take: TakeStory
    authorizer: Authorizer | None
    staged: bool = False

    @classmethod
    def of_suite(cls, suite: Document, whole: Sources, take: TakeStory) -> "ExplainedPolicies":
        """Return the policies that a suite tests, with its ``authorizer``."""
        explainer = Explainer.of_sources(suite_sources(suite, whole))
        return cls(explainer, take, suite_authorizer(suite))

    def admit(
        self, review: JSONObject, webhooks: tuple[Webhook, ...], completed: Completed
    ) -> CaseAnswer:
        """Return the combined response of the webhooks, called in order; raises ReviewError."""
        answers, notes = [], CaseNotes()
        explainer = self.explainer.changed(partial(at_stage, staged=self.staged))
        defaults = explainer.policies.defaults if completed else None
        explained = explainer.explained(
            review,
            webhooks,
            self.authorizer,
            recorder=notes,
            defaults=defaults,
            built=completed == "manifests",
        )
        for answer, story in explained:
            answers.append(answer)
            self.take(story)
        return together(answers, notes, defaults)

    def admitting(self, state: CaseState) -> Admit:
        """Return ``admit`` of the same policies in a cluster with this state."""
        explainer = self.explainer.changed(lambda policies: with_state(policies, state))
        authorizer = authorizer_in(state, self.authorizer)
        return ExplainedPolicies(explainer, self.take, authorizer, state.staged).admit
