"""The policies that a suite tests, explained: the answers are those of the policies, and the story
of each call goes to a function. Slower than ``suite_policies``; off the request path.
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
    """Answers as ``SuitePolicies`` does; ``take`` gets the story of each webhook."""

    def __init__(
        self, explainer: Explainer, take: TakeStory, authorizer: Authorizer | None
    ) -> None:
        self._explainer = explainer
        self._take = take
        self._authorizer = authorizer

    @classmethod
    def of_suite(cls, suite: Document, whole: Sources, take: TakeStory) -> "ExplainedPolicies":
        """The policies that a suite is about, with its ``authorizer``."""
        explainer = Explainer.of_sources(suite_sources(suite, whole))
        return cls(explainer, take, suite_authorizer(suite))

    def admit(self, review: JSONObject, webhooks: tuple[Webhook, ...]) -> CaseAnswer:
        """What the webhooks answer together, called one after the other; raises ReviewError."""
        answers = []
        for answer, story in self._explainer.explained(review, webhooks, self._authorizer):
            answers.append(answer)
            self._take(story)
        return together(answers)

    def admitting_in(self, namespace: JSONObject) -> Admit:
        """``admit`` of the same policies, knowing one more Namespace object."""
        knowing = self._explainer.knowing(namespace)
        return ExplainedPolicies(knowing, self._take, self._authorizer).admit
