"""From an AdmissionReview to its answer: decode, judge, decide, encode. No I/O, no server."""
