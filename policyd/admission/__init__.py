"""Answer an AdmissionReview: decode, evaluate, decide, encode. No I/O, no server."""
