"""Programs: planned CEL expressions as trees of nodes, and the evaluation of them."""
