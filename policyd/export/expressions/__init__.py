"""CEL texts: literals, selectors, and the rewriting of what an author wrote."""
