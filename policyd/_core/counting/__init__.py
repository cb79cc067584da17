"""What is counted at each request, without locks: decisions and durations."""
