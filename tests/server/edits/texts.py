"""Texts of edits. No tests here."""

# It does not compile, and its message must not be repeated to others.
TEXT = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: one}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: objct.metadata.name != 'x'
    message: no SECRET-WORD
"""
