"""Which policies a request matches: rules, selectors, equivalent resources."""
