"""The policies that a suite tests, explained: the responses are those of the policies, and the
story of each call goes to a function. Slower than ``suite_policies``; off the request path.
"""

from collections.abc import Callable

from policyd.admission.authorizer import Authorizer
from policyd.json_types import JSONObject
from policyd.offline.explaining import Explainer
from policyd.offline.stories import WebhookStory
from policyd.offline.suite_policies import suite_authorizer, suite_sources, together
from policyd.policy.model.suite import Webhook
from policyd.policy.source.documents import Document, Sources
from policyd.policy.suite.expectations import CaseAnswer
from policyd.policy.suite.runner import Admit

TakeStory = Callable[[WebhookStory], None]


class ExplainedPolicies:
    """Responds as ``SuitePolicies`` does; ``take`` gets the story of each webhook."""

    def __init__(
        self, explainer: Explainer, take: TakeStory, authorizer: Authorizer | None
    ) -> None:
        self._explainer = explainer
        self._take = take
        self._authorizer = authorizer

    @classmethod
    def of_suite(cls, suite: Document, whole: Sources, take: TakeStory) -> "ExplainedPolicies":
        """Return the policies that a suite tests, with its ``authorizer``."""
        explainer = Explainer.of_sources(suite_sources(suite, whole))
        return cls(explainer, take, suite_authorizer(suite))

    def admit(self, review: JSONObject, webhooks: tuple[Webhook, ...]) -> CaseAnswer:
        """Return the combined response of the webhooks, called in order; raises ReviewError."""
        answers = []
        for answer, story in self._explainer.explained(review, webhooks, self._authorizer):
            answers.append(answer)
            self._take(story)
        return together(answers)

    def admitting_in(self, namespace: JSONObject) -> Admit:
        """Return ``admit`` of the same policies with one more Namespace object."""
        knowing = self._explainer.knowing(namespace)
        return ExplainedPolicies(knowing, self._take, self._authorizer).admit
