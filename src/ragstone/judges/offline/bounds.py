"""Bound: the words before a number that make it a limit (`at most 5`) or a rounded one."""

import re

from ragstone.judges.offline.lazy_pattern import lazy_pattern

AT_MOST = (
    r"(?:not?|never) (?:more|longer|later|greater|higher) than|at (?:the )?most|up to|less than"
    r"|fewer than|under|below|a maximum of|maximum|nicht mehr als|höchstens|maximal|bis zu"
    r"|weniger als|unter|(?:pas|jamais) plus de|au plus|au maximum|moins de|jusqu'à|no más de"
    r"|como máximo|como mucho|menos de|hasta|não mais de|no máximo|até|non più di|al massimo"
    r"|fino a|niet meer dan|hoogstens|maximaal|tot|не более|не больше|максимум|до"
)
AT_LEAST = (
    r"(?:not?|never) (?:less|fewer|shorter|lower) than|at (?:the )?least|more than|over|above"
    r"|a minimum of|minimum|nicht weniger als|mindestens|mehr als|über|(?:pas|jamais) moins de"
    r"|au moins|au minimum|plus de|no menos de|al menos|por lo menos|como mínimo|más de"
    r"|pelo menos|no mínimo|mais de|non meno di|almeno|più di|niet minder dan|minstens|meer dan"
    r"|не менее|не меньше|минимум|более|больше"
)
ABOUT = (
    r"about|around|roughly|approximately|approx\.?|nearly|almost|some|circa|ca\.?|c\.|rund|etwa"
    r"|ungefähr|knapp|gut|environ|près de|quelque|unos|unas|alrededor de|cerca de|aproximadamente"
    r"|casi|quase|ongeveer|omkring|około|около|примерно|yaklaşık|sekitar|khoảng"
)
_BEFORE = lazy_pattern(
    rf"(?:\b(?P<most>{AT_MOST})|\b(?P<least>{AT_LEAST}))?\s*(?:\b(?P<about>{ABOUT})|~|≈)?"
    r"\s*[$€£¥]?\s?\Z",
    re.IGNORECASE,
)
_HAN = lazy_pattern(
    r"(?:(?P<most>最多|不超过|不超過|至多)|(?P<least>至少|不少于|不少於|超过|超過))\s?\Z"
)
_HAN_ABOUT = re.compile(r"(?:大约|大約|约|約)\s?\Z")
_DENIED = lazy_pattern(
    r"[,(，]\s?(?:and\s|und\s|et\s|y\s)?(?:not|nicht|non|pas|no|não|niet|inte|ikke|nie|не)\s[$€£¥]?\Z",
    re.IGNORECASE,
)
LONGEST = 40
"""Characters before a number that are looked at."""
_LAST = (
    "fino a",
    *"""than most to under below over above least maximum minimum als maximal zu unter mindestens de
    plus moins mucho menos hasta di massimo almeno dan hoogstens minstens maximaal tot about around
    roughly approximately approx approx. nearly almost some circa ca ca. c. rund etwa knapp gut
    environ quelque unos unas aproximadamente casi quase ongeveer omkring sekitar of""".split(),
)
"""What such words end in without an accent: before most numbers there are none of them."""
_PER = lazy_pattern(
    r"(?:\s[^\W\d_]{2,20})?(?:\s?/\s?|\s(?:per|an?|each|every|pro|par|por|al|im|je|alla?|na)\s)"
    r"(?P<unit>[^\W\d_]{1,12})",
    re.IGNORECASE,
)


def read_bound(text: str, start: int) -> tuple[str, bool]:
    """Return "<", ">" or "" for the words before a place, and whether they say `about`."""
    before = text[max(0, start - LONGEST) : start]
    word = before.rstrip().rstrip("$€£¥").rstrip()
    if before.isascii() and "~" not in before and not word.lower().endswith(_LAST):
        return "", False
    spaced, han = _BEFORE().search(before), None if before.isascii() else _HAN().search(before)
    about = spaced is not None and bool(spaced["about"])
    if spaced and (spaced["most"] or spaced["least"]):
        return ("<" if spaced["most"] else ">"), about
    if han:
        return ("<" if han["most"] else ">"), False
    return "", about or "~" in before[-2:] or _HAN_ABOUT.search(before) is not None


def is_denied(text: str, start: int) -> bool:
    """Tell whether a number is what something is not: the 180 of `172 g, not 180 g`."""
    return _DENIED().search(text[max(0, start - LONGEST) : start]) is not None


def read_per(text: str, end: int) -> str:
    """Return the word for what a number is counted in: `month` after `5 GB per month`, or ""."""
    match = _PER().match(text, end)
    return match["unit"] if match else ""
