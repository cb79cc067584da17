"""Resources that API servers send to no webhook, and differences between versions of Kubernetes for
webhook configurations. Decides nothing.
"""

from policyd._core.match.unseen_resources import POLICIES
from policyd.versions import feature_since

# The API server sends these to no webhook: a webhook for them could lock everyone out.
NEVER_SENT = POLICIES | {
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
}
REVIEWS_EXCLUDED = feature_since(
    37,
    "webhooks-exclude-reviews",
    "webhooks are never sent reviews of authentication and authorization, such as TokenReview",
    "apiserver pkg/features: ExcludeAdmissionWebhookVirtualResources",
)
STATIC_NAMES = feature_since(
    37,
    "static-names",
    "names that end with .static.k8s.io are refused; before, a warning",
    "apiserver pkg/features: ManifestBasedAdmissionControlConfig",
)
DECLARATIVE_METADATA = feature_since(
    37,
    "declarative-metadata",
    "problems of owner references name the owner, and no problem is reported twice",
    "apimachinery pkg/api/validation/objectmeta.go; apiserver pkg/registry/rest/validate.go",
)
BARE_REQUIRED = feature_since(
    38,
    "bare-required",
    "a field that is missing in an owner reference is required, without a reason",
    "apimachinery pkg/api/validation/objectmeta.go: MarkCoveredByDeclarative",
)
