"""What differs between versions of Kubernetes for webhook configurations. Decides nothing."""

from policyd.versions import Feature, KubernetesVersion

_1_37 = KubernetesVersion(1, 37)
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
