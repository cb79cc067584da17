"""glibc's allocator, the kernel's signal at the death of a parent, and the core's compiler.

Compiled, because each server would import ctypes (0.4 MiB) for these calls alone.
"""

cimport cython
from posix.unistd cimport _exit, getppid

#: CYTHON: str
#: IS_GLIBC: bool

CYTHON = cython.__version__

cdef extern from *:
    """
    #ifdef __linux__
    #include <sys/prctl.h>
    #define policyd_signal_of_parent(number) prctl(PR_SET_PDEATHSIG, (unsigned long) (number))
    #else
    #define policyd_signal_of_parent(number) (-1)
    #endif

    #ifdef __GLIBC__
    #include <malloc.h>
    #define policyd_mallopt mallopt
    #define policyd_malloc_trim malloc_trim
    enum { POLICYD_GLIBC = 1 };
    #else /* other libraries have no such functions, or some that mean something else */
    #define policyd_mallopt(number, value) (0)
    #define policyd_malloc_trim(pad) (0)
    enum { POLICYD_GLIBC = 0 };
    #endif
    """
    const bint POLICYD_GLIBC
    int policyd_mallopt(int number, int value) nogil
    int policyd_malloc_trim(size_t pad) nogil
    int policyd_signal_of_parent(int number) nogil


IS_GLIBC = POLICYD_GLIBC


def mallopt(int number, int value):
    #: (int, int) -> bool
    """Set a parameter of the allocator, by its number in ``<malloc.h>``; return whether glibc
    accepted it.
    """
    return policyd_mallopt(number, value) == 1


def malloc_trim():
    #: () -> None
    """Return the free memory of glibc's heaps to the system."""
    with nogil:
        policyd_malloc_trim(0)


def die_with(int parent, int signal):
    #: (int, int) -> None
    """Have the kernel send this new process the signal when its parent ends, for whatever reason;
    exit if ``parent`` has already ended. Only Linux sends it.
    """
    policyd_signal_of_parent(signal)
    if getppid() != parent:
        _exit(1)
