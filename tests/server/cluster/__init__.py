"""The parts of a server that follow and change its cluster."""
