"""``policyd import``: policies of other engines as policies of policyd."""
