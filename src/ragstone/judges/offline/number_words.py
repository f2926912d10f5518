"""Spelled number: a number written in words, read by the table of the text's own language.

`Once` is eleven in Spanish only, and `fire` four in Norwegian only. Where number words stand
together in a way that the table cannot read, there is no number rather than a wrong one.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from ragstone.judges.offline.words import fold, lazy_pattern

MOST = 20_000
"""Number words that are read in one text."""
_ONES = {
    "en": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen",
    "de": "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "fr": "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze "
    "seize",
    "es": "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro "
    "veinticinco veintiséis veintisiete veintiocho veintinueve",
    "pt": "um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze "
    "dezesseis dezessete dezoito dezenove",
    "it": "uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici "
    "quindici sedici diciassette diciotto diciannove",
    "nl": "een twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien "
    "zestien zeventien achttien negentien",
    "sv": "en två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton "
    "sjutton arton nitton",
    "pl": "jeden dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście "
    "trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście",
    "ru": "один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать "
    "тринадцать четырнадцать пятнадцать шестнадцать семнадцать восемнадцать девятнадцать",
    "tr": "bir iki üç dört beş altı yedi sekiz dokuz on",
    "id": "satu dua tiga empat lima enam tujuh delapan sembilan sepuluh sebelas",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante septante huitante nonante",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "pt": "vinte trinta quarenta cinquenta sessenta setenta oitenta noventa",
    "it": "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "nl": "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
    "sv": "tjugo trettio fyrtio femtio sextio sjuttio åttio nittio",
    "pl": "dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt "
    "osiemdziesiąt dziewięćdziesiąt",
    "ru": "двадцать тридцать сорок пятьдесят шестьдесят семьдесят восемьдесят девяносто",
    "tr": "yirmi otuz kırk elli altmış yetmiş seksen doksan",
    "id": "",
}
_MORE = {
    "en": "hundred=*100 thousand=*1000 million=*1000000",
    "de": "hundert=*100 tausend=*1000 zwo=2",
    "fr": "cent=*100 cents=*100 mille=*1000 vingts=20 une=1",
    "es": "cien=100 ciento=100 doscientos=200 doscientas=200 trescientos=300 trescientas=300 "
    "cuatrocientos=400 quinientos=500 seiscientos=600 setecientos=700 ochocientos=800 "
    "novecientos=900 mil=*1000 un=1 una=1 veintiún=21",
    "pt": "duas=2 uma=1 quatorze=14 cem=100 cento=100 duzentos=200 trezentos=300 quatrocentos=400 "
    "quinhentos=500 seiscentos=600 setecentos=700 oitocentos=800 novecentos=900 mil=*1000",
    "it": "cento=*100 mille=*1000 duemila=2000 tremila=3000 un=1 una=1",
    "nl": "honderd=*100 duizend=*1000",
    "sv": "ett=1 et=1 to=2 fire=4 syv=7 åtte=8 ni=9 ti=10 tjue=20 hundra=*100 hundre=*100 "
    "tusen=*1000 tredive=? halvtreds=? tres=? halvfjerds=? firs=? halvfems=? og=?",
    "pl": "dwie=2 sto=100 dwieście=200 trzysta=300 czterysta=400 pięćset=500 tysiąc=*1000 "
    "tysiące=*1000 tysięcy=*1000 sześćset=600 siedemset=700 osiemset=800 dziewięćset=900",
    "ru": "две=2 сто=100 двести=200 триста=300 четыреста=400 пятьсот=500 шестьсот=600 семьсот=700 "
    "восемьсот=800 девятьсот=900 тысяча=*1000 тысячи=*1000 тысяч=*1000",
    "tr": "yüz=*100 bin=*1000",
    "id": "puluh=? belas=? ratus=? ribu=?",
}
_AND = {"en": "and", "fr": "et", "es": "y", "pt": "e"}
"""Words that join the parts of one number; `six and seven` are two."""
_JOINED = {"de": "und", "nl": "en"}
"""What stands between ones and tens where both are one word."""
_ADDS_TO_TEN = frozenset(("fr", "tr"))
_OPENS = frozenset(("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "ru", "tr"))
"""Languages in which `hundred` alone is a number; English says `a hundred`, and `a few hundred`."""
WORD = re.compile(r"[^\W\d_]{2,24}|\b[ey]\b")
_GAP = re.compile(r"\s?[-‐ \u00a0]\s?\Z|\Z")
_A = lazy_pattern(r"(?<!half )\ban?\s\Z", re.IGNORECASE)
_AND_A_HALF = lazy_pattern(r"\sand a half\b", re.IGNORECASE)
_NO_WHOLE = lazy_pattern(
    r"-(?:first|second|third|odd|fold|[a-z]+th)\b"
    r"|[\s-](?:thirds|quarters|halves|fourths|fifths|sixths|sevenths|eighths|tenths)\b",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A word of a number: its value, or what it multiplies by; neither if it cannot be read."""

    value: int = 0
    times: int = 0


class Spelled(NamedTuple):
    """A number in words and its place in its text."""

    value: float
    start: int
    end: int


@cache
def number_words(name: str) -> Mapping[str, Token]:
    """Return the folded number words of a language; none where it is not known.

    `One` counts only as a part: mostly it is an article.
    """
    if name not in _ONES:
        return MappingProxyType({})
    ones = {word: at for at, word in enumerate(_ONES[name].split(), start=1)}
    tens = {word: 20 + 10 * at for at, word in enumerate(_TENS[name].split())}
    plain = {**ones, **tens}
    if joint := _JOINED.get(name):
        small = [(word, value) for word, value in ones.items() if value < 10]
        plain |= {one + joint + ten: n + m for one, n in small for ten, m in tens.items()}
        hundred, thousand = (entry.split("=")[0] for entry in _MORE[name].split()[:2])
        plain |= {one + hundred: 100 * n for one, n in small}
        plain |= {one + thousand: 1000 * n for one, n in small}
    if name == "it":
        for ten, m in tens.items():
            pairs = (
                (ten[:-1] if n in (1, 8) else ten, one, n) for one, n in ones.items() if n < 10
            )
            plain |= {stem + one: m + n for stem, one, n in pairs}
        plain |= {one + "cento": 100 * n for one, n in ones.items() if 1 < n < 10}
    table = {fold(word): Token(value) for word, value in plain.items()}
    for entry in _MORE[name].split():
        word, value = entry.split("=")
        times = int(value[1:]) if value[0] == "*" else 0
        table[fold(word)] = Token(0 if times or value == "?" else int(value), times)
    return MappingProxyType(table)


def find_spelled(text: str, name: str, words: Set[str]) -> Iterator[Spelled]:
    """Yield the numbers in words of a text in a language; none where the language is not known.

    `words` are the folded `WORD`s of the text, so that one without a number word is done with soon.
    """
    table = number_words(name)
    if table.keys().isdisjoint(words):
        return
    counting = (words & table.keys()) | {_AND.get(name, "")}
    matches = (match for match in WORD.finditer(text) if fold(match[0]) in counting)
    run: list[re.Match[str]] = []
    for match in islice(matches, MOST):
        if run and not _GAP.match(text[run[-1].end() : match.start()]):
            yield from _read(text, run, table, name)
            run = []
        run.append(match)
    yield from _read(text, run, table, name)


def _read(
    text: str, run: Sequence[re.Match[str]], table: Mapping[str, Token], name: str
) -> Iterator[Spelled]:
    """Yield the numbers of a run of number words, which `and` may part."""
    joint = _AND.get(name)
    part: list[re.Match[str]] = []
    for number, match in enumerate(run):
        if fold(match[0]) != joint:
            part.append(match)
            continue
        follower = table.get(fold(run[number + 1][0])) if number + 1 < len(run) else None
        if part and follower and _joins(table.get(fold(part[-1][0])), follower, name):
            continue
        yield from _number(text, part, table, name)
        part = []
    yield from _number(text, part, table, name)


def _joins(left: Token | None, right: Token, name: str) -> bool:
    """Tell whether `and` between two words makes one number of them."""
    if left is None or right.times:
        return False
    if name == "en":
        return left.times >= 100
    return (20 <= left.value < 100 and 0 < right.value < 12) or (
        name == "pt" and left.value >= 100 and right.value < 100
    )


def _number(
    text: str, part: Sequence[re.Match[str]], table: Mapping[str, Token], name: str
) -> Iterator[Spelled]:
    if not part:
        return
    start, end = part[0].start(), part[-1].end()
    tokens = [table[fold(match[0])] for match in part]
    if tokens[0].times and name not in _OPENS and not _A().search(text, max(0, start - 8), start):
        return
    value = _value(tokens, name)
    if value is None or (len(part) == 1 and value <= 1) or _NO_WHOLE().match(text, end):
        return
    if name == "en" and (half := _AND_A_HALF().match(text, end)):
        value, end = value + 0.5, half.end()
    yield Spelled(value, start, end)


def _value(tokens: Sequence[Token], name: str) -> float | None:
    """Return what number words say together; None where they do not fit together."""
    total, current, least = 0, 0, 10**9
    for value, times in tokens:
        if times >= 1000 and times < least:
            total, current, least = total + (current or 1) * times, 0, times
        elif times == 100 and current < 100:
            current = (current or 1) * 100
        elif name == "fr" and value == 20 and current % 100 == 4:
            current += 76
        elif value and _fits(value, current, name):
            current += value
        else:
            return None
    return total + current


def _fits(value: int, current: int, name: str) -> bool:
    if value >= 1000:
        return current == 0
    if value < 10:
        tens = current % 100
        is_ten = tens == 10 or (name == "fr" and tens in (70, 90))
        return current % 10 == 0 and (not is_ten or name in _ADDS_TO_TEN)
    if name == "fr" and value < 20 and current % 100 in (60, 80):
        return True
    return current % (100 if value < 100 else 1000) == 0
