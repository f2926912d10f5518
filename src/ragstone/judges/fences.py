"""Fences: tags around a sample's texts, with a marker that stands in none of them."""

import hashlib
from collections.abc import Mapping


def fenced(texts: Mapping[str, str]) -> dict[str, str]:
    """Return each text between tags of its name: `<contexts-3fa9c1d2> ... </contexts-3fa9c1d2>`.

    The marker is the beginning of the SHA-256 of all texts, lengthened until it stands in none:
    no text can close its own fence, and the same texts have the same prompt.
    """
    joined = "\0".join(texts.values())
    digest = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
    length = 8
    while digest[:length] in joined:
        length += 1
        if length > len(digest):
            digest += hashlib.sha256(digest.encode()).hexdigest()
    marker = digest[:length]
    return {name: f"<{name}-{marker}>\n{text}\n</{name}-{marker}>" for name, text in texts.items()}
