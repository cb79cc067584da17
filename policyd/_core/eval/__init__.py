"""Programs: planned CEL expressions as trees of nodes, and what an evaluation needs."""
