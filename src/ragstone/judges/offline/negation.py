"""Negation: which words of a sentence are said not to hold."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.words import Word, fold, lazy_pattern

# Frame: a phrase with a negation that denies nothing of what it is about.

_FRAMES = {
    "en": r"(?:no|not|never)\s(?:more|less|fewer|longer|later|earlier|higher|lower|greater)\sthan\b"
    r"|(?:not|don't|doesn't|never)\s(?:[^\W\d_]+\s){0,4}?until\b"
    r"|(?:not|don't|never)\s(?:forget|hesitate)\b"
    r"|no\s(?:doubt|wonder|matter|problem)\b|without\s(?:a\s)?doubt\b"
    r"|not\s(?:possible\s|allowed\s|accepted\s|valid\s)(?:[^\W\d_]+\s){0,3}?after\b",
    "de": r"nicht\s(?:mehr|weniger|länger|später|höher|früher)\sals\b|nicht\svergessen\b"
    r"|kein(?:en)?\szweifel\b|ohne\szweifel\b",
    "fr": r"(?:pas|jamais)\s(?:plus|moins)\sde\b|pas\s(?:d'|de\s)?(?:oublier|doute)\b|sans\sdoute\b"
    r"|pas\s(?:[^\W\d_]+\s){0,3}?avant\b",
    "es": r"no\s(?:más|menos)\sde\b|no\s(?:se\s)?olvid\w+|no\s(?:[^\W\d_]+\s){0,4}?hasta\b"
    r"|sin\sduda\b|no\shay\sduda\b",
    "pt": r"não\s(?:mais|menos)\s(?:de|do\sque)\b|não\s(?:se\s)?esque[çc]\w+|sem\sdúvida\b"
    r"|não\s(?:[^\W\d_]+\s){0,4}?até\b",
    "it": r"non\s(?:più|meno)\sdi\b|non\sdimentica\w*|senza\sdubbio\b",
    "nl": r"niet\s(?:meer|minder|langer|later)\sdan\b|vergeet\sniet\b",
    "ru": r"не\s(?:более|менее|больше|меньше)\b|не\sзабуд\w+|не\sзабыва\w+|без\sсомнени\w+",
    "ar": r"لا\sتنس\w*",
}
_BEFORE = {
    "fr": r"(?:oubli\w+|doute\w*)\s\Z",
    "de": r"vergessen\ssie\s\Z|vergiss\s\Z",
}
"""What stands before the negation in a frame, where that decides it: N'oubliez pas."""
_CORRECTION = re.compile(r"\s?(?:[$€£¥]\s?)?\d")
_AFTER = MappingProxyType(
    {name: lazy_pattern(frame, re.IGNORECASE) for name, frame in _FRAMES.items()}
)
_AHEAD: Mapping[str, Callable[[], re.Pattern[str]]] = MappingProxyType(
    {name: lazy_pattern(frame, re.IGNORECASE) for name, frame in _BEFORE.items()}
)
_LINE = 80


def is_framed(text: str, start: int, end: int, name: str) -> bool:
    """Tell whether the negation at a place only bounds, reminds or corrects.

    A negation with nothing but a figure after it (`172 g, not 180 g`) corrects that figure.
    """
    after, before = _AFTER.get(name), _AHEAD.get(name)
    if after and after().match(text, start, start + _LINE):
        return True
    if before and before().search(text[max(0, start - 20) : start]):
        return True
    return text[:start].rstrip().endswith((",", "(", "，")) and _corrects(text, end)


def _corrects(text: str, end: int) -> bool:
    return _CORRECTION.match(text, end) is not None


SCOPE = 3
"""How many words with content a negation is taken to turn."""
_CLAUSE = lazy_pattern(
    r"[,;:()，、；：。！？.!?—–،؛|]|\b(?:but|sondern|mais|sino|mas|bensì|maar)\b", re.IGNORECASE
)
"""Where a clause ends; what follows `but` is no longer denied."""
_EXEMPT = frozenset(
    """only just merely nur bloss seulement uniquement solo solamente apenas somente soltanto alleen
    bara kun tylko jen только тільки sadece hanya chi doar μονο رق فقط רק सिर्फ केवल""".split()
)
"""`Not only` denies nothing."""


class Negation(NamedTuple):
    """One negation as written, and the words it turns, as numbers into the sentence's words.

    It turns none where it only bounds, reminds or corrects.
    """

    shown: str
    turned: tuple[int, ...]


def find_negations(text: str, words: Sequence[Word], language: Language) -> tuple[Negation, ...]:
    """Return the negations of a sentence.

    The words turned are the next ones in the clause; where none follow, those before (German and
    Turkish put the negation last). Without spaces, a negation turns its whole clause.
    """
    cuts = [match.start() for match in _CLAUSE().finditer(text)]
    found: list[Negation] = []
    for shown, start, end in _marks(text, words, language):
        left = max((cut for cut in cuts if cut < start), default=-1)
        right = min((cut for cut in cuts if cut >= end), default=len(text))
        alone = not text[left + 1 : start].strip() and not text[end:right].strip()
        if alone and text[right : right + 1] == ",":
            continue  # "No, ..." answers, it does not deny what follows
        clause = tuple(
            number
            for number, word in enumerate(words)
            if left < word.start < right
            and word.form not in language.function_words
            and not (word.start < end and start < word.end)
        )
        after = tuple(number for number in clause if words[number].start >= end)[:SCOPE]
        before = tuple(number for number in clause if words[number].end <= start)[-SCOPE:]
        turned = clause if language.without_spaces else after or before
        if is_framed(text, start, end, language.name):
            turned = ()
        found.append(Negation(shown, turned))
    return tuple(found)


def _marks(text: str, words: Sequence[Word], language: Language) -> list[tuple[str, int, int]]:
    marks = [
        (word.shown, word.start, word.end)
        for number, word in enumerate(words)
        if word.form in language.negations
        and not (number + 1 < len(words) and words[number + 1].form in _EXEMPT)
    ]
    inside = language.find_inside(text)
    marks.extend((match[0].strip(), match.start(), match.end()) for match in inside)
    return marks


# Opposite: pairs of words of which only one can hold, in several languages.

_PAIRS = """on/off before/after more/less more/fewer increase/decrease increased/decreased
increases/decreases increase/reduce rise/fall rose/fell rising/falling higher/lower high/low
include/exclude included/excluded includes/excludes including/excluding with/without
enable/disable enabled/disabled open/closed open/close opens/closes always/never all/none
everyone/nobody first/last early/late earlier/later earliest/latest maximum/minimum most/least
allow/forbid allowed/forbidden allowed/prohibited permit/prohibit permitted/prohibited
allow/prevent allowed/banned legal/illegal accept/reject accepted/rejected accepted/declined
win/lose won/lost buy/sell bought/sold borrow/lend start/stop starts/stops started/stopped
begin/end begins/ends began/ended inside/outside indoor/outdoor indoors/outdoors above/below
over/under up/down left/right front/back north/south east/west northern/southern eastern/western
hot/cold warm/cool warmer/cooler wet/dry light/dark heavy/light fast/slow faster/slower
quick/slow large/small larger/smaller big/small bigger/smaller long/short longer/shorter
near/far tall/short strong/weak stronger/weaker hard/soft easy/difficult easier/harder
cheap/expensive cheaper/dearer free/paid full/empty loud/quiet safe/dangerous safe/unsafe
true/false right/wrong correct/incorrect correct/wrong success/failure
succeeded/failed pass/fail passed/failed
alive/dead born/died male/female man/woman men/women boy/girl father/mother son/daughter
husband/wife brother/sister king/queen positive/negative optional/mandatory optional/required
optional/compulsory voluntary/mandatory permanent/temporary permanently/temporarily
public/private internal/external wired/wireless manual/automatic manually/automatically
removable/sealed removable/fixed replaceable/fixed new/old newest/oldest
young/old younger/older present/absent presence/absence add/remove added/removed gain/loss
profit/loss import/export input/output upload/download lock/unlock locked/unlocked
approve/reject approved/rejected approved/denied deny/admit denied/admitted agree/refuse
agreed/refused agree/disagree support/oppose supports/opposes supported/opposed
guilty/innocent love/hate best/worst better/worse good/bad rich/poor domestic/foreign
urban/rural major/minor majority/minority arrive/depart arrived/departed many/few
horizontal/vertical portrait/landscape single/double online/offline possible/impossible
day/night morning/evening summer/winter
vor/nach mehr/weniger hoher/niedriger hoch/niedrig steigt/sinkt stieg/sank mit/ohne
eingeschaltet/ausgeschaltet aktiviert/deaktiviert offen/geschlossen immer/nie
alle/keine erste/letzte fruh/spat fruher/spater maximal/minimal mindestens/hochstens
erlaubt/verboten gewonnen/verloren gewann/verlor innen/aussen innerhalb/ausserhalb
oben/unten links/rechts heiss/kalt warm/kalt nass/trocken schnell/langsam gross/klein
grosser/kleiner lang/kurz langer/kurzer leicht/schwer billig/teuer voll/leer laut/leise
sicher/gefahrlich richtig/falsch kostenlos/kostenpflichtig offentlich/privat
enthalten/ausgeschlossen inbegriffen/ausgeschlossen freiwillig/verpflichtend
optional/verpflichtend optional/erforderlich neu/alt gut/schlecht besser/schlechter
abnehmbar/verklebt tag/nacht manuell/automatisch
avant/apres plus/moins augmente/diminue augmentation/diminution hausse/baisse avec/sans
active/desactive ouvert/ferme toujours/jamais premier/dernier premiere/derniere
tot/tard autorise/interdit permis/interdit gagne/perdu interieur/exterieur dessus/dessous
haut/bas gauche/droite chaud/froid rapide/lent grand/petit long/court leger/lourd
cher/gratuit vide/plein vrai/faux obligatoire/facultatif obligatoire/optionnel
inclus/exclu compris/exclu nouveau/ancien meilleur/pire jour/nuit manuel/automatique
antes/despues mas/menos aumenta/disminuye aumento/disminucion con/sin encendido/apagado
activado/desactivado abierto/cerrado siempre/nunca primero/ultimo temprano/tarde
permitido/prohibido gano/perdio dentro/fuera arriba/abajo izquierda/derecha caliente/frio
rapido/lento grande/pequeno largo/corto ligero/pesado barato/caro lleno/vacio
verdadero/falso obligatorio/opcional incluido/excluido nuevo/viejo mejor/peor dia/noche
antes/depois mais/menos aumentou/diminuiu com/sem ligado/desligado ativado/desativado
aberto/fechado sempre/nunca primeiro/ultimo permitido/proibido dentro/fora esquerda/direita
quente/frio grande/pequeno longo/curto leve/pesado barato/caro cheio/vazio obrigatorio/opcional
novo/velho melhor/pior dia/noite
prima/dopo piu/meno aumenta/diminuisce con/senza acceso/spento aperto/chiuso sempre/mai
primo/ultimo permesso/vietato consentito/vietato dentro/fuori sinistra/destra caldo/freddo
veloce/lento grande/piccolo lungo/corto leggero/pesante economico/costoso pieno/vuoto
obbligatorio/facoltativo incluso/escluso nuovo/vecchio migliore/peggiore giorno/notte
meer/minder met/zonder open/gesloten altijd/nooit eerste/laatste
toegestaan/verboden binnen/buiten links/rechts warm/koud snel/langzaam groot/klein
verplicht/optioneel
fore/efter mer/mindre med/utan oppen/stangd alltid/aldrig forsta/sista tillatet/forbjudet
varm/kall snabb/langsam stor/liten
przed/po wiecej/mniej z/bez wlaczony/wylaczony otwarty/zamkniety zawsze/nigdy pierwszy/ostatni
dozwolone/zabronione goracy/zimny szybki/wolny duzy/maly
до/после больше/меньше с/без включен/выключен открыт/закрыт всегда/никогда первый/последний
разрешено/запрещено внутри/снаружи горячий/холодный быстрый/медленный большой/маленький
выше/ниже обязательный/необязательный
trước/sau nhiều/ít tăng/giảm bật/tắt mở/đóng luôn/không cao/thấp nóng/lạnh nhanh/chậm
sebelum/sesudah sebelum/setelah lebih/kurang dengan/tanpa buka/tutup selalu/tidak
önce/sonra fazla/az açık/kapalı her/hiçbir
قبل/بعد اكثر/اقل مع/بدون مفتوح/مغلق دائما/ابدا داخل/خارج اعلى/ادنى مسموح/ممنوع
पहले/बाद अधिक/कम ज्यादा/कम खुला/बंद चालू/बंद हमेशा/कभी अंदर/बाहर
前/后 前/後 多/少 大/小 高/低 开启/关闭 打开/关闭 增加/减少 支持/反对 允许/禁止 包括/不包括
可以/禁止 最大/最小 最高/最低 左/右 内/外 以上/以下 増加/減少 以前/以後 可能/不可 有料/無料
"""


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Return folded word -> the words that exclude it."""
    found: dict[str, set[str]] = {}
    for pair in _PAIRS.split():
        one, other = map(fold, pair.split("/"))
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return MappingProxyType({word: frozenset(others) for word, others in found.items()})
