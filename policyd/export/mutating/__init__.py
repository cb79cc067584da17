"""Export of mutations: MutatingAdmissionPolicies."""
