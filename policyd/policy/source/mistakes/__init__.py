"""Mistakes that only other documents of the set show: copies, and what is almost a policy."""
