"""Edit the text of YAML and JSON, so that comments, quotes and the order of keys stay.

Each edit is verified: the new text must parse to exactly what was meant, else it is refused.
"""
