"""Histogram: counts durations in buckets; cheap enough for several calls per request."""

cdef enum:
    MAX_BOUNDS = 32


cdef class Histogram:
    """Fixed buckets of nanoseconds. One thread writes; a reader sees whole Python integers."""

    def __init__(self, bounds_seconds: tuple[float, ...]) -> None:
        #: (tuple[float, ...]) -> None
        if not 0 < len(bounds_seconds) <= MAX_BOUNDS or sorted(bounds_seconds) != [*bounds_seconds]:
            raise ValueError(f"expected 1 to {MAX_BOUNDS} ascending bounds, got {bounds_seconds!r}")
        cdef int i
        self.size = len(bounds_seconds)
        self.bounds_seconds = bounds_seconds
        for i in range(self.size):
            self.bounds[i] = <long long>(bounds_seconds[i] * 1e9)

    def observe(self, long long nanoseconds) -> None:
        #: (int) -> None
        """Count one duration. A duration equal to a bound is in the bucket of that bound (``le``).
        """
        cdef int i = 0
        while i < self.size and nanoseconds > self.bounds[i]:
            i += 1
        self.counts[i] += 1
        self.total += nanoseconds

    def snapshot(self) -> tuple[list[tuple[float, int]], int, float]:
        #: () -> tuple[list[tuple[float, int]], int, float]
        """((bound in seconds, observations up to it) of each bucket, their number, their sum)."""
        cdef int i
        cdef long long below = 0
        buckets = []
        for i in range(self.size):
            below += self.counts[i]
            buckets.append((self.bounds_seconds[i], below))
        return buckets, below + self.counts[self.size], self.total / 1e9
