"""The YAML of a Policy, for tests of its text."""

POLICY_OF_PODS = """\
apiVersion: policyd.dev/v1
kind: Policy
metadata: {name: own}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}
"""
