"""The mutating webhook: the object during mutation, the two rounds, and conflicts of policies."""
