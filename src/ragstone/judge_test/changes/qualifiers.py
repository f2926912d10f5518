"""Qualifiers: a word or clause that limits a claim, left out, so that it claims more.

Words such as `about` are none: without them a claim is more exact, and hardly another one.
"""

import re

from ragstone.judge_test.capitals import is_first
from ragstone.judge_test.material import Material

_WORDS = """
only|up to|at most|at least|no more than|no less than|usually|often|sometimes|mostly|mainly|partly
|typically|generally|rarely|probably|possibly|some|most|many|few|nur|bis zu|höchstens|mindestens
|meistens|oft|manchmal|teilweise|wahrscheinlich|einige|seulement|jusqu'à|au plus|au moins|souvent
|parfois|généralement|certains|certaines|solo|hasta|como máximo|al menos|a menudo|a veces
|normalmente|algunos|algunas|soltanto|fino a|al massimo|almeno|spesso|a volte|di solito|alcuni
|apenas|até|no máximo|pelo menos|geralmente|às vezes|alguns|alleen|maximaal|minstens|meestal|soms
|только|до|не более|не менее|обычно|иногда|некоторые
"""
_QUALIFIER = re.compile(
    rf"\b(?:{_WORDS.strip().replace(chr(10), '')})\s+(?:of\s+)?(?=\S)", re.IGNORECASE
)
_HAN = re.compile(r"最多|至少|通常|有时|只有|仅|可能|最大|最高")
_CLAUSE = re.compile(
    r",? (?:if|unless|except|provided|as long as|only when|falls|außer|sauf|à moins|salvo|excepto"
    r"|tranne|exceto|behalve|tenzij|кроме|если)\b[^.!?]*(?=[.!?]?\s*\Z)"
)
LEAST = 8
"""Characters that have to be left of a claim."""


def drop_qualifier(claim: str, material: Material) -> str | None:
    """Leave out the first clause that limits the claim, else the first word that does."""
    for pattern in (_CLAUSE, _QUALIFIER, _HAN):
        if match := pattern.search(claim):
            left = f"{claim[: match.start()]}{claim[match.end() :]}".strip()
            if is_first(claim, match.start()) and match[0][:1].isupper():
                left = _begun(left, match.start())
            if len(left) >= LEAST and not material.knows(left):
                return left
    return None


def _begun(text: str, place: int) -> str:
    """Return the text with a capital at the place where a sentence begins now."""
    return text[:place] + text[place : place + 1].upper() + text[place + 1 :]
