"""From an AdmissionReview to its answer: decode, evaluate, decide, encode. No I/O, no server."""
