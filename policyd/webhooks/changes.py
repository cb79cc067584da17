"""What API servers send to no webhook, and what differs between versions of Kubernetes for webhook
configurations. Decides nothing.
"""

from policyd._core.match.unseen_resources import POLICIES
from policyd.versions import Feature, KubernetesVersion

# The API server sends these to no webhook: a webhook for them could lock everyone out.
NEVER_SENT = POLICIES | {
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
}
_1_37, _1_38 = KubernetesVersion(1, 37), KubernetesVersion(1, 38)
REVIEWS_EXCLUDED = Feature(
    "webhooks-exclude-reviews",
    _1_37,
    "webhooks are never sent reviews of authentication and authorization, such as TokenReview",
    "apiserver pkg/features: ExcludeAdmissionWebhookVirtualResources",
)
STATIC_NAMES = Feature(
    "static-names",
    _1_37,
    "names that end with .static.k8s.io are refused; before, a warning",
    "apiserver pkg/features: ManifestBasedAdmissionControlConfig",
)
DECLARATIVE_METADATA = Feature(
    "declarative-metadata",
    _1_37,
    "problems of owner references name the owner, and no problem is reported twice",
    "apimachinery pkg/api/validation/objectmeta.go; apiserver pkg/registry/rest/validate.go",
)
BARE_REQUIRED = Feature(
    "bare-required",
    _1_38,
    "a field that is missing in an owner reference is required, without a reason",
    "apimachinery pkg/api/validation/objectmeta.go: MarkCoveredByDeclarative",
)
