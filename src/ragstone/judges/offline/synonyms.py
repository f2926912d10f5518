"""Synonym: words of one meaning that often end a sentence, in some languages.

They only help: a word that is not here may have another for it all the same.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from ragstone.judges.offline.words import fold

_GROUPS = """movie/film/picture big/large/huge/great small/little/tiny quick/fast/rapid
begun/started ended/finished/over/completed closed/shut car/automobile/vehicle physician/doctor
lawyer/attorney kids/children fall/autumn forest/woods cash/money/funds job/work/position
pupils/students store/shop apartment/flat house/home street/road ill/sick glad/happy sad/unhappy
correct/right/accurate wrong/incorrect/false needed/required/necessary compulsory/mandatory/required
free/gratis expensive/costly cheap/inexpensive present/attending dead/deceased annually/yearly
daily/everyday often/frequently soon/shortly approximately/roughly broad/wide well/fit
wealthy/rich famous/renowned/known difficult/hard/tough easy/simple safe/secure allowed/permitted
forbidden/prohibited/banned purchased/bought acquired/bought sold/vended error/mistake
device/appliance answer/reply/response client/customer staff/personnel/employees sea/ocean
stone/rock outside/outdoors inside/indoors television/tv telephone/phone refund/reimbursement
film/kinofilm gross/riesig schnell/rasch wagen/auto arzt/doktor geschlossen/zu beendet/vorbei
fertig/beendet erlaubt/gestattet verboten/untersagt notwendig/erforderlich/notig kostenlos/gratis
gekauft/erworben haus/gebaude wohnung/apartment beruf/arbeit kunde/kaufer fehler/irrtum
schwierig/schwer einfach/leicht jahrlich/alljahrlich
voiture/auto/automobile grand/vaste rapide/vite ferme/clos fini/termine autorise/permis
interdit/prohibe necessaire/requis obligatoire/requis gratuit/offert achete/acquis maison/demeure
medecin/docteur erreur/faute difficile/dur facile/simple film/long-metrage
coche/auto/carro grande/enorme rapido/veloz cerrado/clausurado terminado/acabado
permitido/autorizado prohibido/vedado necesario/requerido gratis/gratuito comprado/adquirido
casa/vivienda medico/doctor error/fallo dificil/duro facil/sencillo pelicula/filme"""
_FORMS = """tooth/teeth goose/geese mouse/mice louse/lice man/men woman/women child/children
person/people ox/oxen life/lives knife/knives wife/wives leaf/leaves half/halves die/dice foot/feet
bear/bore/born/borne beat/beaten become/became begin/began/begun bend/bent bind/bound bite/bit
blow/blew/blown break/broke/broken bring/brought buy/bought catch/caught choose/chose/chosen
come/came creep/crept deal/dealt dig/dug/digging do/did/done draw/drew/drawn drink/drank/drunk
drive/drove/driven eat/ate/eaten fall/fell/fallen feed/fed feel/felt fight/fought find/found
fly/flew/flown forget/forgot/forgotten freeze/froze/frozen get/got/gotten/getting give/gave/given
go/went/gone/goes grow/grew/grown hang/hung hear/heard hide/hid/hidden hold/held keep/kept
know/knew/known lay/laid/lain lead/led leave/left lend/lent lie/lay/lain/lying light/lit lose/lost
make/made mean/meant meet/met pay/paid ride/rode/ridden ring/rang/rung rise/rose/risen
run/ran/running say/said see/saw/seen seek/sought sell/sold send/sent shake/shook/shaken
shine/shone shoot/shot show/shown shrink/shrank/shrunk sing/sang/sung sink/sank/sunk
sit/sat/sitting sleep/slept speak/spoke/spoken spend/spent spin/spun stand/stood steal/stole/stolen
stick/stuck strike/struck/stricken swear/swore/sworn sweep/swept swim/swam/swum swing/swung
take/took/taken teach/taught tear/tore/torn tell/told think/thought throw/threw/thrown
understand/understood wake/woke/woken wear/wore/worn weave/wove/woven weep/wept win/won/winning
wind/wound write/wrote/written
ok/okay airplane/aeroplane plow/plough draft/draught donut/doughnut curb/kerb aging/ageing
jail/gaol mom/mum enquiry/inquiry"""
"""Forms of one word that are not alike, and writings of one."""


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Return folded word -> the words that may mean the same, itself among them."""
    found: dict[str, frozenset[str]] = {}
    for group in (*_GROUPS.split(), *_FORMS.split()):
        words = frozenset(map(fold, group.split("/")))
        for word in words:
            found[word] = found.get(word, frozenset()) | words
    return MappingProxyType(found)
