"""Language: the function words and the negations of a language, and a guess at a text's language.

Each language keeps its own lists, so that no list of one language is applied to a text in another.
A language that is not here works too: its words are then weighed by their length alone, and its
negations are not seen.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ragstone.judges.offline.function_words import FUNCTION_WORDS
from ragstone.judges.offline.lazy_pattern import lazy_pattern
from ragstone.judges.offline.spelled_numbers import number_words
from ragstone.judges.offline.words import fold


@dataclass(frozen=True, slots=True)
class Language:
    """What has to be known of a language to weigh and to compare its words.

    Attributes:
        name: the two-letter code; "" is a language that is not known.
        function_words: words that say nothing about the topic.
        negations: words that turn a clause into its opposite.
        veiled: beginnings of words that deny without a negation, such as `avoid`.
        negated_inside: the pattern of a negation inside a word or a run of letters without spaces.
        nouns_have_capitals: whether every noun has a capital, so that a capital is no name.
        without_spaces: whether its words are written without spaces between them.
    """

    name: str
    function_words: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    veiled: tuple[str, ...] = ()
    negated_inside: str = ""
    nouns_have_capitals: bool = False
    without_spaces: bool = False

    def find_inside(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the negations inside words or runs of letters."""
        if self.negated_inside:
            yield from re.finditer(self.negated_inside, text)


UNKNOWN = Language("")

_NEGATIONS = {
    "en": """no not never none nobody nothing nowhere neither nor without cannot cant can't don't
        doesn't didn't isn't aren't wasn't weren't won't wouldn't couldn't shouldn't hasn't haven't
        hadn't mustn't needn't unable lacks lack lacking fails failed""",
    "de": "nicht kein keine keinem keinen keiner keines nie niemals nichts niemand ohne weder",
    "fr": "pas jamais rien aucun aucune sans ni personne nul nulle guere",
    "es": "no nunca jamas nada nadie ningun ninguna ninguno sin tampoco ni",
    "pt": "nao nunca jamais nada ninguem nenhum nenhuma sem tampouco nem",
    "it": "non mai niente nulla nessun nessuna nessuno senza neppure nemmeno ne",
    "nl": "niet geen nooit niets niemand zonder nergens noch",
    "sv": "inte ikke icke aldrig aldri inga ingen inget ingenting intet uten utan uden ej",
    "pl": "nie nigdy nic nikt zaden zadna zadne bez brak ani",
    "cs": "ne nikdy nic nikdo zadny zadna zadne bez neni nejsou nema nemaji nelze ani",
    "ru": "не нет ни никогда никто ничего ничто никакой без нельзя",
    "uk": "не немає ні ніколи ніхто нічого жоден без",
    "tr": "degil yok hayir asla hicbir yoktur degildir",
    "id": "tidak bukan tanpa jangan belum tak tiada",
    "vi": "khong chua",
    "fi": "ei eivat en emme ette et ilman ala eika koskaan",
    "hu": "nem ne sem nincs nincsenek soha nelkul",
    "ro": "nu fara niciodata nimic nimeni nici",
    "el": "δεν δε μη μην οχι χωρις ποτε κανενας καμια ουτε",
    "ar": "لا ليس ليست لم لن غير بدون دون ولا",
    "fa": "نه نيست نیست ندارد ندارند بدون نمی هرگز هیچ",
    "he": "לא אין בלי ללא אינו אינה אינם",
    "hi": "नहीं न मत बिना ना नही",
}

_VEILED = {
    "en": """avoid prevent exclud refus deny denie forbid forbad prohibit ban block stop fail lack
        lose lost void unless except instead rather only hardly rarely barely seldom scarcely reject
        cancel absent impossib un dis less few little other different separate free too far miss
        neglect declin oppos against""",
    "de": """vermeid verhinder ausgeschlossen ausser verbot verweiger lehn abgelehnt fehl statt nur
        kaum selten un frei wenig separat andere""",
    "fr": """evit empech exclu refus interdi sauf hormis seul peine rare impossib indispon inutil
        manqu lieu separ""",
    "es": """evit impid impedi exclu neg prohib salvo excepto solo apenas rara imposib inutil falt
        lugar separad""",
    "pt": "evit imped exclu neg proib salvo exceto apenas somente rara impossiv falt separad",
    "it": "evit imped esclu neg viet salvo tranne solo appena rara impossib manc invece separat",
}

_INSIDE = {
    "tr": r"\w(?:maz|mez|miyor|mıyor|muyor|müyor|madi|medi|mamis|memis|siz|suz)(?:lar|ler)?\b",
    "cs": r"\bne(?:ma|ni|lze|jsou|mu[zs]|da|by|js|pot|fung|vy|ob|do|po)",
    "fa": r"\bن(?:می|ک|ش|د|ب)\w",
    "zh": r"不(?!锈|同|过|仅|但|断|久|少|管|論|论|僅|過|斷)|没|沒|未|勿|禁止"
    r"|[无無](?:法|需|须|須)|非(?!常|洲)",
    "ja": r"ない(?!で)|なか[っろ]|なく(?!て[はも]い)|なければ|ませ[んぬ]|ず[にみ、。]"
    r"|不可|禁止|未(?!来)|無し|なし",
    "ko": "않|없|못|아니|안 |말[고아라]|금지|불가",
    "th": "ไม่|มิได้|ห้าม|ปราศจาก",
    "lo": "ບໍ່|ຫ້າມ",
    "km": "មិន|គ្មាន|ហាម",
    "my": "မ[က-အ].{0,12}?(?:ဘူး|ပါ)",
    "bn": "না|নেই|নয়|ছাড়া",
    "ta": "இல்லை|முடியாது|கூடாது|வேண்டாம்|அல்ல",
    "te": "లేదు|కాదు|వద్దు|లేకుండా",
}

_SCRIPTS: tuple[tuple[str, str], ...] = (
    ("ja", "\u3040-\u30ff"),
    ("ko", "\uac00-\ud7af"),
    ("zh", "\u3400-\u9fff"),
    ("th", "\u0e00-\u0e7f"),
    ("lo", "\u0e80-\u0eff"),
    ("km", "\u1780-\u17ff"),
    ("my", "\u1000-\u109f"),
    ("bn", "\u0980-\u09ff"),
    ("ta", "\u0b80-\u0bff"),
    ("te", "\u0c00-\u0c7f"),
    ("vi", "\u01a1\u01b0\u1ea0-\u1ef9"),
)
_MIXED = frozenset(("ja", "vi"))
"""Written partly in letters that other languages have too."""
_WITHOUT_SPACES = frozenset(("ja", "zh", "th", "lo", "km", "my"))
ENOUGH = 4000
"""How many characters of a text are looked at to guess its language."""
LEAST_SHARE = 0.1
"""The share of a text's words that have to be function words of the language guessed."""


@cache
def language_of(name: str) -> Language:
    """Return what is known of a language, by its two-letter code; `UNKNOWN` if nothing is."""
    if name not in FUNCTION_WORDS and name not in _SCRIPT_RUNS:
        return UNKNOWN
    negations = frozenset(map(fold, _NEGATIONS.get(name, "").split()))
    return Language(
        name,
        frozenset(map(fold, FUNCTION_WORDS.get(name, "").split())) - negations,
        negations,
        tuple(_VEILED.get(name, "").split()),
        _INSIDE.get(name, ""),
        nouns_have_capitals=name == "de",
        without_spaces=name in _WITHOUT_SPACES,
    )


_SCRIPT_RUNS = {name: lazy_pattern(f"[{letters}]") for name, letters in _SCRIPTS}
_ANY_SCRIPT = lazy_pattern(f"[{''.join(letters for _, letters in _SCRIPTS)}]")
_LETTERS = re.compile(r"[^\W\d_]")
_SCORED = tuple(FUNCTION_WORDS)


_BITS = ENOUGH.bit_length()


@cache
def _spoken_in() -> Mapping[str, int]:
    """Return folded word -> a one in the bits of each language of `_SCORED` that uses it so.

    The numbers of all words of a text sum up to counts for all languages, `_BITS` bits each.
    """
    found: defaultdict[str, int] = defaultdict(int)
    for place, language in enumerate(map(language_of, _SCORED)):
        for word in language.function_words | language.negations:
            found[word] += 1 << place * _BITS
    return dict(found)


def guess_language(text: str, forms: Sequence[str]) -> Language:
    """Return the language whose script or function words the text has, or `UNKNOWN`.

    Args:
        text: the text; only its first `ENOUGH` characters are looked at.
        forms: its folded words, in order.
    """
    start = text[:ENOUGH]
    if not start.isascii() and (written := _by_script(start)):
        return written
    few = forms[: ENOUGH // 8]
    spoken_in = _spoken_in()
    times = Counter(few)
    together = sum([times[form] * spoken_in[form] for form in times.keys() & spoken_in.keys()])
    if not together:
        return UNKNOWN
    counts = [together >> place * _BITS & (1 << _BITS) - 1 for place in range(len(_SCORED))]
    most = max(counts)
    level = [place for place, count in enumerate(counts) if count == most]
    best = level[0] if len(level) == 1 else max(level, key=lambda place: _numbers(place, few))
    return language_of(_SCORED[best]) if most >= max(1, LEAST_SHARE * len(few)) else UNKNOWN


def _by_script(text: str) -> Language | None:
    """Return the language whose script a text is in, where one language has it."""
    if _ANY_SCRIPT().search(text) is None:
        return None
    letters = len(_LETTERS.findall(text))
    for name, run in _SCRIPT_RUNS.items():
        share = 0.05 if name in _MIXED else 0.4
        if len(run().findall(text)) > share * letters:
            return language_of(name)
    return None


def _numbers(place: int, forms: Sequence[str]) -> tuple[int, int]:
    """Return how many number words of a language the forms have; the first language wins ties."""
    words = number_words(_SCORED[place])
    return sum(form in words for form in forms), -place
