from policyd._core.library import Library

LIBRARY: Library
