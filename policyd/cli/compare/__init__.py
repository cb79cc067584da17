"""``policyd compare``: its options, what it would send, and its report."""
