"""`podSecurity` rules, as policyd's own policies for the Pod Security Standards."""
