"""``policyd report``: reports about the objects in a cluster."""
