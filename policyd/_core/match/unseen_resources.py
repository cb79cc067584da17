"""Resources whose requests neither admission policies nor webhooks see."""

# A policy about policies could lock everyone out (apiserver plugin/webhook/predicates/rules).
POLICIES = frozenset(
    ("admissionregistration.k8s.io", resource)
    for resource in (
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
)
# kubernetes/pkg/kubeapiserver/admission/exclusion/resources.go; webhooks see them before 1.37.
REVIEWS = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
