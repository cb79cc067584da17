from policyd._core.eval.functions import Library

LIBRARY: Library
