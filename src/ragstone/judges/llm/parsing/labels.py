"""Labels in plain text: read only if what follows does not limit or contradict them."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from ragstone.judges.llm.parsing.json import YES_OR_NO, is_reconsidered, read_word

T = TypeVar("T")

_BUT = (
    "(?:but|assuming|supposing|provided|however|though|although|except|unless|yet|partial|partially"
    "|partly|mostly|not|never|none|nothing|hardly|barely|actually|unclear"
    "|only (?:part|half|some|the|if|when|for|in)\\w*"
    "|aber|jedoch|allerdings|nicht|nur|mais|cependant|sauf|pas|pero|aunque|salvo|mas|porém|exceto"
    "|ma|però|tranne|maar|niet|но|однако|кроме|не)"
)
_LIMITS = re.compile(
    rf"[^\n]*(?:\bthough\b|\bonly\s*(?:\)|$))|[\s*\"'`.:;,()\[\]–—=-]*{_BUT}\b|\s*[,(]\s*(?:if|when|only)\b|[\s*\"'`:=–—-]+[✗✘❌]",
    re.IGNORECASE,
)
"""A qualification right after a label."""
_NUMBER_NEXT = re.compile(
    r"[\s*\"'`.:;,()\[\]–—=-]*(?>[0-9]+(?:[.,][0-9]+)*)\s*(?:%|/|percent|of\b)"
    r"|[\s*\"'`]*[:=–—-][\s*\"'`]*(?>[0-9]+(?:[.,][0-9]+)*)[\s*\"'`]*(?:$|[.;)](?:\s|$))",
    re.IGNORECASE,
)
"""A number right after a label, as its value."""
_HOWEVER = re.compile(
    r"(?:^|[.;:!?\n(–—]\s*)[\s*\"'`]*(?:however|but|rather|instead|doch)\b", re.IGNORECASE
)
_NOTHING = re.compile(
    r"(?:\b(?:nothing|none|nor|neither|without|not|never|no)|n't)\b[^.;:]*$", re.IGNORECASE
)
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_CARDINALS = "one two three four five six seven eight nine ten".split()
_NUMBER_WORDS = {
    word: number for words in (_ORDINALS, _CARDINALS) for number, word in enumerate(words, 1)
}
NUMBER = rf"[0-9]{{1,4}}|(?<![a-z])(?:{'|'.join(_NUMBER_WORDS)})\b"
"""The pattern of a number in digits or words; `number_of` returns its value."""
_REFERENCES = re.compile(
    rf"\b(?:claims?|statements?|contexts?|sentences?)\s*#?([0-9]{{1,4}})|\b({'|'.join(_ORDINALS)})\b",
    re.IGNORECASE,
)
"""Items that a sentence is about."""
_CLAUSES = re.compile(r"[.,;:!?()\[\]{}|\n–—/]+|\s-+\s|->|→|=")
_LEAD = (
    "(?:actually|in fact|well|so|therefore|hence|thus|overall|rather|instead|no wait|wait|sorry"
    "|final|the|verdict|answer|label"
    "|grade|claim|statement|it|this|that|is|it's|are|as|to|and|or|really|clearly|[0-9]+)"
)
_KEY = re.compile(r"\b(?:labels?|verdicts?|grades?|judge?ments?)\W{0,3}:", re.IGNORECASE)
"""The name of an answer."""
_DENIAL = "(?:nope|nein|non|нет|wrong|incorrect|untrue|falsch|faux|falso)"
_ANSWERS = re.compile(
    r"[\s*\"'`]*[:=–—-]+[\s*\"'`]*(yes|no|true|false)(?=[\s*\"'`]*(?:[.,;!)]|$))", re.IGNORECASE
)
_EDGES = " \t\r*_\"'`~"


class LabelPattern(Generic[T]):
    """Labels at the start of a text, alone or with a reason after them.

    Words of digits do not start a text: a lone 1 is the number of a claim or a footnote.

    Args:
        words: word in lower case, with single spaces -> its meaning.
        side: meanings of one side do not contradict each other; true for the affirmative side.
    """

    def __init__(self, words: Mapping[str, T], side: Callable[[T], object]) -> None:
        longest = sorted((word for word in words if not word.isdigit()), key=len, reverse=True)
        escaped = {word: re.escape(word).replace(r"\ ", r"[-_\s]") for word in longest}
        either = "|".join(escaped.values())
        named = [word for word in longest if word not in YES_OR_NO]
        affirmed = "|".join(escaped[word] for word in named if side(words[word]))
        self._words = words
        self.side = side
        self._start = re.compile(
            rf"[*\"'`]*({either})[*\"'`]*\s*(?:$|[.:;(\[–—]|-\s|,)", re.IGNORECASE
        )
        self._clause = re.compile(
            rf"(?:{_LEAD}\b[\s,]*)*({either}|{_DENIAL})(?:$|[^\w\s]|\s+by\b)", re.IGNORECASE
        )
        self._named = re.compile(
            rf"\b({'|'.join(escaped[word] for word in named)})\b", re.IGNORECASE
        )
        self._denied = re.compile(
            rf"(?:n't|n’t|\b(?:not|never|no longer))\s+(?:\w+\s+){{0,3}}(?:{affirmed})\b",
            re.IGNORECASE,
        )

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        """Match the label (group 1) at `at`; None if there is none, or the rest contradicts it.

        The rest may give a reason. It must not answer again, take the label back, or state the
        other side; after an affirmative label, it must not limit or deny it either.
        """
        label = self._start.match(text, at)
        if not label or (value := read_word(label[1], self._words)) is None:
            return None
        rest = text[label.end(1) :]
        if (answer := _ANSWERS.match(rest)) and (
            not YES_OR_NO[answer[1].lower()] or read_word(answer[1], self._words) != value
        ):
            return None  # `Entailment: no`, `Contradiction: no`
        if _NUMBER_NEXT.match(rest) or is_reconsidered(rest):
            return None
        if self.side(value) and (
            _LIMITS.match(rest) or _HOWEVER.search(rest) or self._denied.search(rest)
        ):
            return None
        clauses = (self._clause.match(clause.strip(_EDGES)) for clause in _CLAUSES.split(rest))
        others = [clause[1] for clause in clauses if clause]
        others += [other[1] for other in self._mentions(rest)]
        return label if all(self._side_of(other) == self.side(value) for other in others) else None

    def revised_in(self, text: str, sides: Mapping[int, object]) -> bool:
        """Return whether a text after an answer may change it.

        `sides` has the side of each item, by its number. A sentence may repeat it: "Claim 2 is
        contradicted."
        """
        if not text.strip(" \r\n`"):
            return False
        known = set(sides.values())
        clauses = (clause.strip(_EDGES) for clause in _CLAUSES.split(text))
        if (
            is_reconsidered(text)
            or _KEY.search(text)
            or any(
                self._clause.match(clause) for clause in clauses if not _REFERENCES.search(clause)
            )
        ):
            return True
        for sentence in re.split(r"(?<=[.;!?])\s|\n", text):
            mentioned = {self._side_of(each[1]) for each in self._mentions(sentence)}
            if self._denied.search(sentence):
                mentioned.add(None)
            numbers = _REFERENCES.findall(sentence)
            if not mentioned or (len(known) == 1 and mentioned == known):
                continue
            number = number_of("".join(numbers[0])) if len(numbers) == 1 else 0
            if len(mentioned) > 1 or number not in sides or mentioned != {sides[number]}:
                return True
        return False

    def _mentions(self, text: str) -> Iterator[re.Match[str]]:
        for each in self._named.finditer(text):
            if not _NOTHING.search(text, max(0, each.start() - 40), each.start()):
                yield each

    def _side_of(self, word: str) -> object:
        denial = re.fullmatch(_DENIAL, word, re.IGNORECASE)
        value = read_word("no" if denial else word, self._words)
        return None if value is None else self.side(value)


def number_of(written: str) -> int:
    return _NUMBER_WORDS.get(written.casefold()) or int(written)


def numbered_pattern(*nouns: str) -> re.Pattern[str]:
    noun = "|".join(nouns)
    return re.compile(
        rf"\s*(?:(?:[-*•]|#{{1,6}})\s+)?\*{{0,3}}(?:(?:{noun}|[cs])[\s_]*)?[#(\[]?({NUMBER})"
        rf"(?:(?<=[a-z])\s+(?:{noun}))?(?:[.):\]]+|\s+[-–—]|\*+\s*:|\**\s*$)(?![0-9])\**\s*(.*)",
        re.IGNORECASE,
    )
