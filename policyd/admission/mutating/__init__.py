"""The mutating webhook: the object while it changes, its two rounds, and conflicts of policies."""
