"""How much is left of the C stack of the current thread, whatever its size.

Values and expressions have bounded depths where they enter. This second defence holds for every
stack, and for callers that pass their own values to the core.
"""

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>

    static __thread uintptr_t policyd_lowest;  /* of the stack of this thread; 1: not known */
    static __thread size_t policyd_size;

    #ifdef __linux__
    #include <pthread.h>
    static void policyd_find_stack(void) {
        pthread_attr_t found;
        void *lowest = NULL;
        size_t size = 0;
        policyd_lowest = 1;
        if (pthread_getattr_np(pthread_self(), &found) == 0) {
            if (pthread_attr_getstack(&found, &lowest, &size) == 0 && lowest != NULL) {
                policyd_lowest = (uintptr_t) lowest;
                policyd_size = size;
            }
            pthread_attr_destroy(&found);
        }
    }
    #else /* only the bounds of depths hold */
    static void policyd_find_stack(void) { policyd_lowest = 1; policyd_size = 0; }
    #endif

    /* Whether less is left than ``most`` bytes, or than a part of the stack if it is small. */
    static int policyd_is_low(size_t most, size_t parts) {
        uintptr_t here = (uintptr_t) __builtin_frame_address(0);
        size_t kept;
        if (policyd_lowest == 0) policyd_find_stack();
        kept = policyd_size / parts < most ? policyd_size / parts : most;
        return here >= policyd_lowest && here - policyd_lowest < kept;
    }
    """
    bint policyd_is_low(size_t most, size_t parts) noexcept nogil

from policyd.errors import CostExceeded

cdef enum:
    LEAST = 192 * 1024  # bytes for what recursive functions call: encoders, RE2, the interpreter
    EXPRESSION = 512 * 1024  # bytes for 1,000 levels of an expression


cdef int descend() except -1:
    """Functions that recurse over values call this for each container. Raises CostExceeded before
    the stack ends; in a thread of 1 MiB, the depths that policyd accepts never come near that.
    """
    if policyd_is_low(LEAST, 4):
        raise CostExceeded("operation cancelled: a value is nested too deeply to be processed")
    return 0


cdef bint has_room():
    """Whether there is room to evaluate another expression: its tree has at most 1,000 levels."""
    return not policyd_is_low(EXPRESSION, 2)
