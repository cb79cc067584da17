"""Counters of decisions and durations, updated at each request without locks."""
