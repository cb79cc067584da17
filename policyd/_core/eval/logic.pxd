"""``&&``, ``||``, ``?:``, ``==``, ``!=`` and ``in`` a list of literals."""

from policyd._core.values.activation cimport Activation


cdef object all_of(Activation act, tuple terms, Py_ssize_t start)
