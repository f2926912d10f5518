"""Opposite: pairs of words of which only one can hold, in several languages.

A pair says nothing about the words around it; `conflicts` looks at those.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ragstone.judges.offline.words import fold

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
