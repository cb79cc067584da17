def quoted(text: str) -> str:
    """%q: strconv.Quote."""
