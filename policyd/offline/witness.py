"""A suite's policies, asked by an explainer: the answers are those of the policies, and each story
is told to whoever wants to know what they did. Slower than asking them; off the request path.
"""

from collections.abc import Callable, Mapping

from policyd.admission.authorizer import Authorizer, StaticAuthorizer
from policyd.admission.engine import Webhook
from policyd.json_types import JSON, JSONObject
from policyd.offline.explaining import Explainer
from policyd.offline.stories import WebhookStory
from policyd.policy.model.kinds import PolicyTest
from policyd.policy.source import loader
from policyd.policy.source.documents import Document, Sources

Tell = Callable[[WebhookStory], None]


class Witness:
    """Answers reviews as ``PolicySet`` does, and tells the story of each."""

    def __init__(self, explainer: Explainer, tell: Tell, authorizer: Authorizer | None) -> None:
        self._explainer = explainer
        self._tell = tell
        self._authorizer = authorizer

    @classmethod
    def of_suite(cls, suite: Document, whole: Sources, tell: Tell) -> "Witness":
        """Of the policies that a suite is about, with its ``authorizer``."""
        rules = suite.model.authorizer if isinstance(suite.model, PolicyTest) else None
        authorizer = None if rules is None else StaticAuthorizer(rules)
        return cls(Explainer.of_sources(suite_sources(suite, whole)), tell, authorizer)

    def review(self, review: JSONObject, webhook: Webhook) -> JSONObject:
        """The AdmissionReview that answers; raises ReviewError."""
        (story,) = self._explainer.explain(review, (webhook,), self._authorizer)
        self._tell(story)
        return {"response": story.response}

    def reviewing_in(
        self, namespace: Mapping[str, JSON]
    ) -> Callable[[JSONObject, Webhook], JSONObject]:
        """``review`` of the same policies, knowing one more Namespace object."""
        knowing = self._explainer.knowing(dict(namespace))
        return Witness(knowing, self._tell, self._authorizer).review


def suite_sources(suite: Document, whole: Sources) -> Sources:
    """The documents of the policies that a suite is about: those it names, or all."""
    named = loader.named_policies(suite)
    return whole if named is None else loader.require(loader.load(named, version=whole.version))
