"""Fences: tags around a sample's texts, with a marker that stands in none of them."""

import hashlib
from collections.abc import Mapping

SHORTEST = 8
"""Hex digits of the shortest marker."""


def fenced(texts: Mapping[str, str]) -> dict[str, str]:
    """Return each text between tags of its name: `<contexts-3fa9c1d2> ... </contexts-3fa9c1d2>`.

    The marker is the beginning of the text's SHA-256, lengthened until it stands in none of the
    texts: no text can close a fence, and the same contexts begin every prompt about them alike,
    which is what providers' caches of prompts go by.
    """
    return {name: _between(name, text, texts) for name, text in texts.items()}


def _between(name: str, text: str, texts: Mapping[str, str]) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    length = SHORTEST
    while any(digest[:length] in other for other in texts.values()):
        length += 1
        if length > len(digest):
            digest += hashlib.sha256(digest.encode()).hexdigest()
    marker = digest[:length]
    return f"<{name}-{marker}>\n{text}\n</{name}-{marker}>"
