"""Fields that may be absent: which reads are guarded, and which are not."""
