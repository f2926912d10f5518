"""Split text in any language into sentences.

The script, the case of the next letter and one list of abbreviations for all languages decide, in
two passes whose work grows with the length of the text and no faster:

1. *Units* are found line by line. A unit ends at a blank line, at a line that ends in a colon and
   at one that ends in a Thai or Lao letter (they have no full stop). A list item begins a unit; a
   heading, a table row and a fenced code block are one each, not split further. Any other line
   break is a wrapped line: the sentence continues.
2. Inside a unit each terminator is looked at once. Full-width ones, the danda and the like always
   end a sentence; ``.``, ``!``, ``?`` and ``…`` do if white space and then something that can begin
   a sentence follow, and if a full stop is not that of an abbreviation, initial, ordinal or list
   number. Closing quotes, brackets, citation marks and emoji after it belong to the sentence.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from ragstone._internal.fields import Span

_compiled = cache(re.compile)  # compiling the largest patterns would make importing slow


class Sentence(NamedTuple):
    text: str
    start: int
    end: int


def split_sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text in order, without the white space around them.

    Every character that is not white space lies in one of them, so a rule of dashes is one too.
    """
    caseless = text.islower()  # no capitals at all: a small letter may begin a sentence
    found: list[Sentence] = []
    for start, end, prose in _units(text):
        begin = start
        if prose:
            for stop in _compiled(_STOP).finditer(text, start, end):
                if _ends_sentence(text, begin, stop, caseless):
                    _append(found, text, begin, stop.end())
                    begin = stop.end()
        _append(found, text, begin, end)
    return tuple(found)


def _append(found: list[Sentence], text: str, start: int, end: int) -> None:
    left = text[start:end].lstrip()
    if left:
        piece = left.rstrip()
        found.append(Sentence(piece, end - len(left), end - len(left) + len(piece)))


_LINE = r"""(?x)[ \t]*+(?:
    (?P<blank>\s*+\Z)
    |(?P<fence>`{3,}+|~{3,}+)
    |(?P<rule>(?:={3,}+|-{3,}+|\*{3,}+|_{3,}+|(?:[-*_][ \t]++){3,}+)\s*+\Z)
    |(?P<line>\#{1,6}[ \t]|\||\*\*[^*]++\*\*:?\s*+\Z)
    |(?P<item>(?:[-*+•‣◦▪▫●○■□➢➤·–—]|[(\[]?(?:\d{1,3}|[a-z]|[ivx]{1,5})[)\]]|[01]\.
        |\(?[一二三四五六七八九十]{1,3}[)）、]|[①-⑳]|（[一二三四五六七八九十\d]{1,3}）)(?=\s|(?<=[）、①-⑳])))
    |(?P<number>(?:\d{1,3}(?:\.\d{1,3}){0,4}+\.?|[A-Za-z]\.|[IVXivx]{1,5}\.)\s|\d{1,3}[.．、](?=[^\W\d]))
    |(?P<quote>>)
    )"""
_BEGINS = frozenset({"blank", "fence", "line", "item", "number"})
_ENDS = frozenset({"blank", "rule", "line"})
_LISTED = frozenset({"item", "number"})
_PAGE = "\u2029\f"  # line breaks that are more than that


def _units(text: str) -> Iterator[tuple[int, int, bool]]:
    start = here = 0
    fence = ""  # the marker that closes the code block we are in
    before, settled = "", True  # kind of the current unit; whether a numbered line may follow it
    for line in text.splitlines(keepends=True):
        after, bare = here + len(line), line.rstrip()
        if fence:
            if bare.endswith(fence) and not bare.strip(fence[0] + " \t"):
                yield start, after, False
                start, fence, before, settled = after, "", "", True
            here = after
            continue
        match = _compiled(_LINE).match(line)
        kind = match.lastgroup if match else ""
        if kind == "number" and not settled:
            kind = ""  # "on page", line break, "3. May": a wrapped line, not an item
        begins = kind in _BEGINS or (kind == "quote" and before != "quote")
        if begins or (kind == "rule" and settled):  # else the rule underlines a title
            yield start, here, True
            start = here
        last = bare[-1:]
        if match and kind == "fence":
            fence = match[kind]
        elif kind in _ENDS or "\u0e01" <= last <= "\u0edf" or last in ":：" or line[-1] in _PAGE:
            yield start, after, kind != "line"
            start, kind = after, "line"
        before = kind or before
        settled = before in _LISTED or start == after or last in _STOPS
        here = after
    yield start, len(text), not fence


_SOFT = ".!?…‼⁇⁈⁉‽\u037e"  # end a sentence only if what follows agrees
_HARD = "。！？｡．।॥؟۔։።፧፨។៕။།༎᙮᠃᠉᥄᥅෴꘎꘏꣎꣏꤯꧉꩝꩞꩟꯫܀܁܂⸮"  # end one by themselves
_STOPS = frozenset(_SOFT + _HARD)
_HARD_SET = frozenset(_HARD)
_UNSEEN = "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"  # joiners, RTL marks
_SPACE = " \u00a0\u202f\u2009"
_STOP = rf"""(?xs)[{_SOFT}{_HARD};「『“（](?:
    (?<=「)[^「」]{{0,120}}+」(?<=[{_HARD}!?…]」)  # a quoted sentence is not split
    |(?<=『)[^『』]{{0,120}}+』(?<=[{_HARD}!?…]』)
    |(?<=“)[^“”]{{0,120}}+”(?<=[。！？]”)
    |(?<=（)[^（）]{{0,120}}+）(?<=[{_HARD}]）)
    |(?:(?<=[\u0370-\u03ff\u1f00-\u1fff];)|(?<=[{_SOFT}{_HARD}])(?<![{_SOFT}{_HARD}].))
    (?P<run>[{_SOFT}{_HARD}]*+(?:[ ][།༎])*+(?:(?<=॥)[ ]?[०-९]{{1,4}}[ ]?॥)?))
    (?:[])}}"'”’»›）】」』〉》〕｣*_\u00b9\u00b2\u00b3\u2070-\u2079{_UNSEEN}]
    |(?:[{_SPACE}][»›”]|[“«‹])(?=[\s.,;:!?…)]|\Z)  # French and German closing quotes
    |[{_SPACE}]?\[\^?(?:\d{{1,4}}(?:[ ]?[,;–-][ ]?\d{{1,4}})*+|[a-z]|[a-z]++[ ]needed)\]
    |[{_SPACE}]?【[^】\n]{{1,40}}】
    |[{_SPACE}]?[\u2600-\u27bf\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff][\u200d\ufe0f]?
    )*+
    (?=(?P<gap>\s[\s"'“„«»‹›(\[{{（「『*_—–\-{_UNSEEN}]*+)?(?P<next>.?))"""
_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPH = "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
_SPEECH_VERB = re.compile(r"[他她我](?:[^\s。！？，]{0,5})[说說道问問]|[とっな]|という")


def _ends_sentence(text: str, begin: int, stop: re.Match[str], caseless: bool) -> bool:
    at, follower, gap = stop.start(), stop["next"], stop["gap"]
    if not follower or follower in ",;:.!?…)]}%，、；：）":
        return False
    run = stop["run"]
    if run is None:  # a whole quotation or aside of Chinese or Japanese
        return at - begin < 2 if text[at] == "（" else not _SPEECH_VERB.match(text, stop.end())
    run = text[at] + run
    if not gap:
        if (run == "．" and follower.isdigit()) or text.startswith("។ល។", at):
            return False  # a full-width decimal, or Khmer for "and so on"
        letter = _compiled(_IDEOGRAPH)
        glued = run[-1] in "!?" and letter.match(follower) and letter.match(text, at - 1)
        return bool(glued) or not _HARD_SET.isdisjoint(run)
    if at - begin <= 64 and not _WORD.search(text, begin, at):
        return False  # no words yet: "... And then"
    if not _HARD_SET.isdisjoint(run):
        return True
    where = stop.start("next")
    small = follower.islower() and not "\u10d0" <= follower <= "\u10ff"  # Georgian has no capitals
    if small and not caseless and not text[where + 1 : where + 2].isupper():  # but "iPhone" begins
        return False
    return run != "." or not _is_abbreviated(text, begin, at, where)


# Full stops that do not end a sentence. An entry with a capital holds for that writing only.


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_NEVER_LAST = _words("""e.g i.e eg ie vs cf viz approx Mr Mrs Ms Mx Dr Drs Prof Hon Rev Fr Gen Sen
    Rep Gov Col Maj Sgt Capt Cpt Lt Cmdr Adm Pres Supt Messrs al ibid Mt Ft Ph resp incl excl esp
    z.B d.h u.U v.a i.d.R s.o s.u sog bzw ggf evtl vgl inkl zzgl Hr Hrn Dipl Ing Mag geb gegr zz MM
    Mme Mlle Mgr p.ex p.ej p.es env éd apr Sra Srta Srs Sras Ud Uds Vd D Dña Dra Dras Exmo Exma
    Excmo Av Avda Avd EE aprox prov sig sigg dott dr prof ing avv geom egr spett TP Tp Ths ThS GS
    PGS TS KTS т.е т.к т.н т.ч напр проф акад доц гр ул пр-т просп пос см ср тов ст гл рис табл стр
    див вул π.χ δηλ βλ Δρ κα κος np tzn tj tzw św ul godz inż mgr hab např tzv sv MUDr JUDr RNDr
    PhDr bijv bv d.w.z o.a dhr mevr drs t.ex bl.a dvs f.eks esim ns pl ún kb özv örn Doç Yrd Cad
    Sok dl dna Bpk डॉ प्रो श्री श्रीमती कु रु पं मो ড ডা ডঃ মো z.T u.a av""")
_BEFORE_NUMBER = _words("""no nos nr nrs fig figs p pp pg vol vols ch chap sec sect art eq eqs ref
    refs par para Abb Tab Kap Abs Bd Ziff S Art Nr núm num nº pág págs pag pagg cap n f ff č č.p
    blz s str t ч п с рис § Rs ext tel Tel""")
_OFTEN_LAST = _words("""etc usw usf u.s.w u.v.m uvm o.ä u.ä ecc enz osv atd itd itp jne stb etc.c
    v.v a.m p.m т.д т.п др κ.λπ κλπ κ.ά κ.α dll dsb н.э гг вв""")
_SOMETIMES_LAST = _words("""Sr Jr St Ave Blvd Rd Inc Ltd Co Corp Bros LLC Cie Jan Feb Mar Apr Jun
    Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed Thu Thurs Fri Sat Okt Dez Mrz Mär janv févr juil
    déc ene abr dic ed eds dept univ assn max min avg ca Mio Mrd Std Chr Jh Jhd ders dgl UU тыс
    млн млрд руб коп обл yy vb ex Ex им LS BS""")
_STARTERS = _words("""The A An This That These Those He She It We They You I His Her Its Our Their
    There Then But And However In On At By For From With When While After Before If As So What Who
    Why How Where Yes No Not Also Der Die Das Ein Eine Er Sie Es Wir Ihr Ich Dann Dort Doch Aber
    Und Im Am Bei Auch Dies Diese Dieser Wenn Nach Il Elle Ils Elles Le La Les Un Une Des Nous Vous
    Ce Cette Ces Mais Puis Dans En El Los Las Una Unos Ella Ellos Esto Este Esta Pero Luego Después
    También Lo Gli Lei Loro Questo Questa Ma Poi Nel Anche O Os Ele Ela Eles Isso Mas Depois Na
    Também Он Она Оно Они Мы Вы Это Этот Эта Эти Но Затем Потом Также Там Тогда Как Если Το Η Ο Οι
    Τα Αυτό Αυτός Αυτή Αλλά Μετά Em Het Een De Hij Zij Maar To Ten Ta Ale Potem Ông Bà Anh Nó""")
_NAME_PARTS = _words("La Le Les El De Die Der Das Des Lo An Em Anh O")
_LETTERED = _words("plan vitamin type group option class grade section appendix hepatitis")
_CLOCK_TAILS = _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday EST GMT UTC ET PT")
_ORDINAL_BEFORE = _words("am der die das dem den des im vom zum zur beim seit bis ab jeder und")
_ORDINAL_AFTER = _words("""Januar Jänner Februar März April Mai Juni Juli August September Oktober
    November Dezember Jahrhundert Jahrhunderts Weltkrieg Auflage Kapitel Klasse Platz""")
_LEAD = re.compile(r""".*[-'’"“”„«»‹(\[{*_/,:]""", re.DOTALL)
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")
_INITIAL = re.compile(r"[^\W\d_]\.")
_COUNTED = re.compile(r"\d|[VX]\b|[IVXLC]{2,}\b")


def _is_abbreviated(text: str, begin: int, dot: int, where: int) -> bool:
    words = text[max(begin, dot - 40) : dot].split() or [""]
    last = _LEAD.sub("", words.pop())
    before = words[-1] if words else ""
    leads = dot - begin <= 40 and not any(map(str.isalnum, "".join(words)))  # an item's number
    following = (_WORD.match(text, where) or [""])[0]
    if last.isdecimal():
        return len(last) <= 3 and (
            leads
            or before.endswith(":")
            or before.lower() in _ORDINAL_BEFORE
            or following in _ORDINAL_AFTER
            or (following.isdecimal() and text.startswith(".", where + len(following)))
        )
    if len(last) == 1 and leads:
        return True
    whole = last
    while words and len(words[-1]) == 2 and _INITIAL.fullmatch(words[-1]):
        whole = words.pop() + whole  # "z. B." is "z.B."
    odd = last not in (last.lower(), last.upper(), last.capitalize())  # "eSIM." is no "esim."
    names = {last, whole} if odd else {last, whole, last.lower(), whole.lower()}
    if not names.isdisjoint(_OFTEN_LAST):
        return following in _CLOCK_TAILS
    numbered = not names.isdisjoint(_BEFORE_NUMBER) or last.endswith("str")  # Nr. 5, Hauptstr. 5
    if not names.isdisjoint(_NEVER_LAST) or (numbered and _COUNTED.match(text, where)):
        return True
    if not names.isdisjoint(_SOMETIMES_LAST) or _DOTTED.fullmatch(whole):
        return following not in _STARTERS
    return len(last) == 1 and _is_initial(last, before, following, text[where : where + 2])


def _is_initial(letter: str, before: str, following: str, ahead: str) -> bool:
    if before[-1:].isdigit():
        return following == "Chr"  # "44 v. Chr."; else it is a unit: "at 10 h.", "up to 45 W."
    if _INITIAL.match(ahead) or "\u0590" <= letter <= "\u06ff":
        return True  # more initials, or Hebrew and Arabic, where one letter is never a word
    if not letter.isupper():
        return letter in "гвκд"
    starts = following in _STARTERS and following not in _NAME_PARTS
    return not starts and before.lower() not in _LETTERED


CLEAR, APART = 0.6, 0.2  # share of a claim's letters in its sentence, and how much less others have

_QUOTES = re.compile('["`´‘’‚‛“”„‟′″«»‹›「」『』＂＇]')
_DASHES = re.compile("[‐‑‒–—―−﹣－]")
_QUOTED = re.compile(r"\S+")
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")  # kana and Han have no spaces


class QuoteFinder:
    def __init__(self, text: str) -> None:
        self._text = text
        self._plain: str | None = None
        self._starts: tuple[int, ...] = ()

    def find(self, quote: str) -> Span | None:
        """Return the first position of a quote: verbatim, otherwise with other formatting.

        White space, case, quotation marks and dashes may differ. None if it is not found or blank.
        """
        quote = quote.strip()
        at = self._text.find(quote)
        if not quote or at >= 0:
            return (at, at + len(quote)) if quote else None
        if self._plain is None:
            self._plain = _normal(self._text)
        normal = _normal(quote)
        at = self._plain.find(normal)
        return None if at < 0 else (self._offset(at), self._offset(at + len(normal) - 1) + 1)

    def _offset(self, at: int) -> int:
        plain = self._plain or ""
        if len(plain) == len(self._text):  # only single blanks: no offset changed
            return at
        self._starts = self._starts or tuple(word.start() for word in _QUOTED.finditer(self._text))
        return self._starts[plain.count(" ", 0, at)] + at - plain.rfind(" ", 0, at) - 1


def find_in(
    finders: Sequence[QuoteFinder], quote: str, likely: int | None
) -> tuple[int, Span] | None:
    """Return the number of a text that has a quote, if possible the likely one, and where."""
    for number in sorted(range(len(finders)), key=lambda number: number != likely):
        if span := finders[number].find(quote):
            return number, span
    return None


def _normal(text: str) -> str:
    text = _DASHES.sub("-", _QUOTES.sub("'", text))
    # İ is the only letter whose lower case is longer, which would shift later offsets.
    return " ".join(text.replace("İ", "i").lower().replace("ς", "σ").split())


def _terms(text: str) -> frozenset[str]:
    return frozenset(_TERM.findall(_normal(text)))


@lru_cache(maxsize=4)  # the claims of one response follow each other
def _indexed(text: str, spans: tuple[Span, ...]) -> tuple[QuoteFinder, tuple[frozenset[str], ...]]:
    return QuoteFinder(text), tuple(_terms(text[start:end]) for start, end in spans)


def find_quote(claim: str, response: str, sentences: Sequence[Span]) -> Span | None:
    """Verbatim, or the one sentence that clearly has most letters of its words; None if unclear."""
    finder, by_sentence = _indexed(response, tuple(sentences))
    if (found := finder.find(claim)) or not by_sentence:
        return found
    terms = _terms(claim)
    letters = sum(map(len, terms))
    shares = [sum(map(len, terms & words)) / letters if letters else 0.0 for words in by_sentence]
    first, second = sorted([*shares, 0.0], reverse=True)[:2]
    clear = first >= CLEAR and first - second >= APART
    return sentences[shares.index(first)] if clear else None
