"""Arithmetic of timestamps and durations. Everything costs 1 unit.

``timestamp + duration``, ``duration + timestamp``, ``duration + duration``
``timestamp - timestamp``, ``timestamp - duration``, ``duration - duration``
"""

from libc.stdint cimport INT64_MIN, int64_t

from policyd._core.values.activation cimport Activation
from policyd._core.values.errors cimport INTEGER_OVERFLOW, TIMESTAMP_OVERFLOW
from policyd._core.eval.functions cimport binary
from policyd._core.values.overflow cimport add_overflows, multiply_overflows, subtract_overflows
from policyd._core.values.time_strings cimport MAX_SECONDS, MIN_SECONDS, NANOS_PER_SECOND
from policyd._core.values.types cimport Duration, Timestamp, duration, timestamp

from policyd._core.eval.functions import Library

#: LIBRARY: Library


cdef object moved(Timestamp at, int64_t nanos):
    """The timestamp plus nanoseconds, with the same offset."""
    cdef int64_t seconds = at.seconds + nanos // NANOS_PER_SECOND
    cdef int64_t rest = at.nanos + nanos % NANOS_PER_SECOND  # both are 0 or more
    if rest >= NANOS_PER_SECOND:
        rest -= NANOS_PER_SECOND
        seconds += 1
    if seconds < MIN_SECONDS or seconds > MAX_SECONDS:
        return TIMESTAMP_OVERFLOW
    return timestamp(seconds, <int> rest, at.offset)


cdef object add_durations(Activation act, object left, object right):
    cdef int64_t nanos
    if add_overflows((<Duration> left).nanos, (<Duration> right).nanos, &nanos):
        return INTEGER_OVERFLOW
    return duration(nanos)


cdef object add_to_timestamp(Activation act, object left, object right):
    return moved(<Timestamp> left, (<Duration> right).nanos)


cdef object add_to_duration(Activation act, object left, object right):
    return add_to_timestamp(act, right, left)


cdef object subtract_durations(Activation act, object left, object right):
    cdef int64_t nanos
    if subtract_overflows((<Duration> left).nanos, (<Duration> right).nanos, &nanos):
        return INTEGER_OVERFLOW
    return duration(nanos)


cdef object subtract_from_timestamp(Activation act, object left, object right):
    if (<Duration> right).nanos == INT64_MIN:
        return INTEGER_OVERFLOW
    return moved(<Timestamp> left, -(<Duration> right).nanos)


cdef object subtract_timestamps(Activation act, object left, object right):
    cdef int64_t nanos
    cdef Timestamp late = <Timestamp> left, early = <Timestamp> right
    if multiply_overflows(late.seconds - early.seconds, NANOS_PER_SECOND, &nanos):
        return INTEGER_OVERFLOW
    if add_overflows(nanos, late.nanos - early.nanos, &nanos):
        return INTEGER_OVERFLOW
    return duration(nanos)


LIBRARY = Library("time_arithmetic", (
    binary(
        "_+_", "_+_(duration, duration) -> duration", "add_duration_duration", add_durations,
        "duration('1s') + duration('1m') == duration('61s') // true",
    ),
    binary(
        "_+_", "_+_(duration, timestamp) -> timestamp", "add_duration_timestamp", add_to_duration,
        "duration('1s') + timestamp(1) == timestamp(2) // true",
    ),
    binary(
        "_+_", "_+_(timestamp, duration) -> timestamp", "add_timestamp_duration", add_to_timestamp,
        "timestamp(1) + duration('1s') == timestamp(2) // true",
    ),
    binary(
        "_-_", "_-_(duration, duration) -> duration", "subtract_duration_duration",
        subtract_durations,
        "duration('1m') - duration('1s') == duration('59s') // true",
    ),
    binary(
        "_-_", "_-_(timestamp, duration) -> timestamp", "subtract_timestamp_duration",
        subtract_from_timestamp, "timestamp(1) - duration('1s') == timestamp(0) // true",
    ),
    binary(
        "_-_", "_-_(timestamp, timestamp) -> duration", "subtract_timestamp_timestamp",
        subtract_timestamps, "timestamp(60) - timestamp(0) == duration('1m') // true",
    ),
))
