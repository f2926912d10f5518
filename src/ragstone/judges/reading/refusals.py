"""Refusal: how a model says that it will not, or cannot, answer."""

import re

_REFUSAL = re.compile(
    r"\b(?:"
    r"i (?:cannot|can't|can not|could not|couldn't|won't|will not|must decline|decline|refuse)"
    r"|i(?: a|')m (?:unable|not able|not allowed|sorry|afraid)"
    r"|i apologi[sz]e|my apologies|sorry,? but|as an ai\b"
    r"|(?:cannot|can't|can not|unable to) "
    r"(?:determine|verify|assess|evaluate|provide|comply|assist)"
    r"|(?:insufficient|lacks?|no) (?:information|context|evidence) (?:to|for|is|was|provided)"
    r"|insufficient (?:information|context|evidence)"
    r"|(?:not|\w+n't)(?: \w+){0,3} (?:enough|sufficient) (?:information|info|context|evidence)"
    r"|no verdicts|(?:refuse|decline)d? to answer"
    r"|against my (?:policy|policies|guidelines|programming)"
    r")",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Tell whether a text says, in English, that its writer does not answer."""
    return _REFUSAL.search(" ".join(text.replace("’", "'").split())) is not None
