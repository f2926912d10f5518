"""Language: the function words and the negations of a language, and a guess at a text's language.

Each language keeps its own lists, so that no list of one language is applied to a text in another.
A language that is not here works too: its words are then weighed by their length alone, and its
negations are not seen.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ragstone.judges.offline.number_words import number_words
from ragstone.judges.offline.words import fold, lazy_pattern

# Function words by language: the words that say nothing about what a text is on.

FUNCTION_WORDS = {
    "en": """a about after all also am an and any are as at be because been before being both
        but by can could did do does doing during each either else even ever for from further
        had has have having he her here hers him his how i if in into is it its itself just
        like may me might more most much must my of on once one only or other our out over own
        per same shall she should so some such than that the their them then there these they
        this those through to too under until up upon us very via was we were what when where
        whether which while who whom whose why will with would you your yours it's that's
        there's you're they're we're i'm he's she's i've you've don't""",
    "de": """aber alle allem allen aller alles als also am an andere anderen auch auf aus bei
        beim bin bis bist da dabei dadurch dafur damit dann das dass dem den denn der des
        dessen die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem
        einen einer eines er es etwa etwas fur hat hatte haben hier hinter ich ihm ihn ihr
        ihre ihrem ihren ihrer im in ins ist jede jeder jedes kann konnen man mehr mein mit
        mussen muss nach noch nur ob oder pro sehr sein seine seinem seinen seiner sich sie
        sind so soll sollte sowie uber um und uns unter vom von vor war waren was wegen weil
        wenn werden wie wieder wir wird wurde wurden zu zum zur zwischen""",
    "fr": """a afin ai ainsi alors apres au aucun aussi autre autres aux avait avant avec avez
        avoir avons c car ce ceci cela celle celui ces cet cette ceux chaque chez comme d dans
        de depuis des donc dont du elle elles en encore entre est et etaient etait ete etre eu
        eux fait faire il ils j je l la le les leur leurs lors lorsque lui m mais meme mes mon
        n nos notre nous on ont ou par parce pendant peu peut peuvent plus pour pourquoi puis
        qu quand que quel quelle qui quoi s sa se sera ses si son sont sous sur t ta te tout
        toute toutes tous tres un une vos votre vous y""",
    "es": """a al algo algun alguna algunos ante antes aqui asi aun aunque cada como con cual
        cuales cuando de del desde despues donde dos e el ella ellas ellos en entre era eran
        es esa ese eso esta estaba estan estar este esto estos estas fue fueron ha habia han
        hasta hay la las le les lo los mas me mi mientras mismo muy ni nos o otra otro otros
        para pero por porque puede pueden que quien se sea segun ser si sido sin sobre son su
        sus tambien tan te tener tiene tienen todo todos tu tras un una uno unos usted y ya yo""",
    "pt": """a ao aos apos as assim ate cada com como da das de dela dele deles depois do dos
        e ela elas ele eles em entre era essa esse esta estao estar este foi foram ha isso
        isto ja la lhe mais mas me mesmo meu minha muito na nas no nos num numa o os ou para
        pela pelas pelo pelos pode podem por porque pra qual quando que quem se seja ser seu
        seus so sobre sua suas tambem te tem tem ter tinha toda todo todos um uma umas uns
        voce voces""",
    "it": """a ad agli ai al alla alle allo anche c che chi ci come con cosi cui d da dagli
        dai dal dalla dalle degli dei del della delle dello di dopo dove e ed era erano essere
        fra fu gli ha hanno ho i il in io l la le lei li lo loro lui ma mentre mi nei nel
        nella nelle o ogni oltre per perche piu poi possono prima puo quale quando quella
        quello questa queste questi questo qui se si sia sono stata stato su sua sue sugli sui
        sul sulla suo suoi tra tu tutti tutto un una uno vi voi""",
    "nl": """aan al alle als ben bij daar dan dat de den der deze die dit doen door dus een
        elk en er had hebben heeft hem het hier hij hoe hun ik in is ja je jij kan kon kunnen
        maar me meer men met mijn moet na naar nog nu of om omdat ons ook op over per te tegen
        toch toe tot u uit uw van veel voor waar was wat we wel werd werden wie wij wil worden
        wordt zal ze zich zij zijn zo zoals zou""",
    "sv": """af al alla alt andre at att av blev bli bliver ble blir da dar de dem den denna
        der deras det detta dette disse du efter eftersom eg eller en er et ett fick for fra
        fram fran fore ha hade han hans har hos hun hur hvis hvor i ifran igen in ind ingen
        inn ja jag jeg kan kom kunne kunde man med meg mellem men mer mig min mot mycket nar
        naar nagon noe nogle og och om opp op over pa paa sa samma sedan seg sig sin sine ska
        skal skulle som t till til under upp ut vad var vara vart ved vi vid vil vill vil vore
        ar""",
    "pl": """a aby ale albo bez bo by byc byl byla byli bylo byly ci co czy dla dlatego do gdy
        gdzie go i ich ile im inne ja jak jako je jego jej jest jeszcze jesli juz kazdy kiedy
        ktora ktore ktory ktorych ktorym lub ma maja mam mi moze mozna mu my na nad nam nas ni
        o od on ona one oni oraz po pod podczas przed przez przy sa sie ta tak takze tam te
        tego tej ten to tu tych tylko tym u w we wiec wszystkie z za ze zeby""",
    "cs": """a aby aj ale ani asi az bez bude by byl byla bylo byly byt co do ho i jak jako je
        jeho jej jeji jejich jen jeste jestli ji jiz jsem jsme jsou k kde kdy kdyz ke ktera
        ktere kteri ktery ma mezi mi mit mu muze na nad nam nebo nez o od po pod podle pokud
        pouze pred pri pro proto ptoze s sa se si sve ta tak take tato tedy ten tento to toho
        tom tu ty u uz v ve vsak z za ze""",
    "ru": """а без был была были было быть в вам вас весь во вот все всех вы где да для до его
        ее если есть еще же за и из или им их к как какой когда которая которые который
        которых кто ли либо между меня мне может можно мой мы на над нам нас него нее них но о
        об один он она они оно от перед по под после потому при про с со свой себя так также
        такой там то тоже только том ты у уже что чтобы эта эти это этого этой этом этот я""",
    "uk": """а або але б без бути був була були було в вас ви він він вона вони воно все всі
        для до його її же за з зі і й із або їх к коли котра який яка яке які можна можуть
        може на над нас о об один от перед під по після при про та так також там те ти то той
        тільки у уже це цей ця ці чи що щоб як якщо є""",
    "tr": """acaba ama ancak arasinda bazi ben beri bile bir biz bu bunu bunun cok cunku da
        daha de dir dolayi en eger fakat gibi hem hep her icin ile ise iki ki kadar mi mu
        nasil nerede olan olarak oldu olmak olup onlar onu onun sadece sen siz sonra su
        tarafindan ve veya ya yani""",
    "id": """ada adalah agar akan aku anda antara apa apabila atau bagi bahwa beberapa bisa
        dalam dan dapat dari dengan di dia hal hanya harus hingga ia ini itu jika juga kami
        kamu karena ke kepada ketika kita lagi lain lebih maka mereka oleh pada para per pun
        saat saja sama sampai sangat saya sebagai sebuah secara sedang seperti serta setelah
        setiap suatu sudah telah tentang terhadap tersebut untuk yaitu yang yg""",
    "vi": """anh ban bang bi boi cac cai can cho chu chung co con cua cung cuoc da dang day de
        den deu di do duoc duoi gi hay hon khi la lai lam len luc ma mot nao nay neu nen nguoi
        nhu nhung nhieu noi o ra rang rat roi sau se tai theo thi the tren trong truoc tu va
        van vao ve vi viec voi""",
    "fi": """ei etta han hanen he hyvin ja jo joka jos jossa joten kanssa kaikki koska kuin
        kun me mika minun mita mutta myos ne niin niiden noin nyt oli olla olen on ovat sa se
        sek seka sen siella sina sita taman tama tassa te tai vain vaan voi voit voivat""",
    "hu": """a abban ahogy ahol aki akkor alatt amely ami amikor az azt azok be csak de e egy
        egyik el en es esetben ez ezek ezt fel ha hanem hogy ig igen is itt itt ki kell kozott
        le lehet maga mar meg mely mert mi mint mit most o ok olyan ott pedig s szamara
        szerint sok tehat ugy utan vagy van vannak volt""",
    "ro": """a acest aceasta aceste acestea acesti ai al ale am ar are as asupra au avea ca
        care cand ce cel cele cei cu cum da daca dar de deci despre din dintre dupa ea ei el
        ele era este eu fi fie fiecare fost in inainte intr intre la lor lui mai mult ne ni o
        or ori pana pe pentru poate pot prin sa sau se si sunt sub sunt toate un una unde unei
        unor unui va vor""",
    "el": """αν από απο αυτη αυτο αυτος αυτα για γιατι δε εαν ειναι ενα εναν ενας εχει εχουν η
        ηταν θα και καθε κατα με μεσα μετα μια μπορει να ο οι ομως οπου οπως οσο οτι οταν που
        πριν προς πως σας σε στα στη στην στις στο στον στους τα τη την της τι τις το τον του
        τους των ως""",
    "ar": """ان او اي الى الا اذا اما انه انها او بعد بعض به بها بين تلك ثم حتى حيث حين خلال
        ذلك سوف على عن عند عندما في فيه فيها قبل قد كان كانت كل كما كيف لان لك لكن له لها ما
        مع من منذ منه منها نحو هذا هذه هل هم هن هنا هناك هو هي و وقد وكان وهو وهي يكون يمكن
        التي الذي الذين""",
    "fa": """از است اما ان اين اینکه این آن با باید بر برای بود به تا چه خود در دارد دارند را
        شد شده شود که کرد کند هر هم و ها های همه هست همین همچنین یا یک می""",
    "he": """או אז אחרי אך אל אלא אם אני אנחנו את אתה אשר בין בו בה גם היא היה היו הוא הם הן
        הזה זה זאת זו יש כי כל כך כמו כן כאשר לפי לפני מה מי מן מ נו עד על עם רק של שלו שלה שם""",
    "hi": """अपना अपने अब आप इस इसके इसे उन उनके उस उसके एक एवं और कर करता करते करना करने का
        कि किया की के को गया गई जब जा जाता जाती जो तक तथा तो था थी थे दिया दो द्वारा पर पर फिर
        बाद भी में मैं यदि यह या ये रहा रही रहे लिए लेकिन वह वे सकता सकते सकती साथ से हम हर ही
        हुआ हुई हूं है हैं हो होता होती होने""",
}


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


# Refusal: how people say that they do not know, or that their sources do not say, by language.

REFUSALS: Mapping[str, tuple[str, ...]] = {
    "en": (
        (
            r"(?:i|we) (?:really |currently |also |simply )?(?:do not|don't|did not|didn't) "
            r"(?:know|find|locate|see (?:any|that|this|it|information)|have (?:\w+ "
            r"){0,2}?(?:information|details|data|access|knowledge|context|idea))\b"
        ),
        (
            r"(?:i|we) (?:cannot|can't|can not|could not|couldn't|(?:am|was|are|were) (?:not "
            r"able|unable) to|wasn't able to|weren't able to) (?:\w+ly )?(?:find|locate|see"
            r"|answer|determine|confirm|tell|say|provide (?:an answer|information))\b"
        ),
        (
            r"(?:(?:i|we) (?:cannot|can't|can not|(?:am|are) (?:not able|unable) to)"
            r"|(?:i'm|we're) (?:not able|unable) to) (?:help|assist)(?: you)?"
            r"(?: with (?:(?:this|that|your|such an?)(?: question| request| topic)?|it))?[\W\d]*\Z"
        ),
        r"(?:unable|not able) to (?:answer|find|determine|tell)\b",
        r"(?:i|we) (?:have no|had no) (?:information|idea|access|data|details|knowledge)\b",
        r"(?:i|we) (?:found (?:no|nothing)|have(?: not|n't) found)\b",
        (
            r"(?:i'm|i am|we're|we are) (?:not sure|not certain|unsure|not aware|(?:unable|not "
            r"able) to (?:find|locate|answer|determine|confirm|tell|say))\b"
        ),
        (
            r"(?:the|these|this|your|my) (?:\w+ ){0,2}?(?:contexts?|documents?|documentation"
            r"|passages?|information|sources?|texts?|excerpts?|manuals?|guides?|articles?) "
            r"(?:\w+ ){0,2}?(?:does not|do not|doesn't|don't|did not|didn't) (?:\w+ )?"
            r"(?:mention|specify|say|state|address|discuss|describe|explain|indicate|cover)\b"
        ),
        (
            r"(?:the|these|this|your|my) (?:\w+ ){0,2}?(?:information|texts?|manuals?|guides?"
            r"|articles?) (?:\w+ ){0,2}?(?:does not|do not|doesn't|don't|did not|didn't) (?:\w+ )?"
            r"(?:contain|provide|include|give) (?:(?:this|that|it)[\W\d]*\Z|(?:any |an |the "
            r"|enough )?(?:answer|information|details?)\b)"
        ),
        (
            r"(?:the|these|this|your|my) (?:\w+ ){0,2}?(?:contexts?|documents?|documentation"
            r"|passages?|sources?|excerpts?) (?:\w+ ){0,2}?(?:does not|do not|doesn't|don't"
            r"|did not|didn't) (?:\w+ )?(?:contain|provide|include|cover|give)\b"
        ),
        (
            r"(?:this|that|the|such) (?:\w+ )?information (?:is|was) not (?:available|provided"
            r"|mentioned|included|specified|given|stated)\b"
        ),
        (
            r"there (?:is|was|were|are) (?:no|not enough|insufficient) (?:\w+ )?(?:information"
            r"|mention)\b"
        ),
        r"no (?:relevant )?information (?:is|was|about|on)\b",
        r"(?:it|that|this) (?:is|was) not (?:clear|mentioned|specified|stated)\b",
    ),
    "de": (
        r"(?:ich|wir) (?:weiss|wissen) (?:\w+ ){0,3}?nicht\b",
        r"(?:das|es) weiss ich (?:\w+ ){0,2}?nicht",
        (
            r"(?:ich|wir) (?:kann|konnte|konnten|konnen|habe|haben|finde|fand|fanden) "
            r".{0,60}\b(?:nicht|nichts|keine\w?) .{0,40}?(?:finden|gefunden|beantworten"
            r"|bestatigen|sagen|feststellen)"
        ),
        (
            r"(?:ich|wir) (?:finde|finden|fand|fanden|habe|haben) (?:\w+ ){0,3}?(?:nichts|keine "
            r"(?:\w+ )?(?:informationen|angaben|hinweise))\b"
        ),
        (
            r"(?:dazu|daruber|hierzu|hieruber) (?:steht|findet|habe|haben|konnte|konnen|gibt"
            r"|liegen) .{0,40}\b(?:nichts|keine (?:informationen|angaben)|nicht finden)\b"
        ),
        (
            r"(?:der|die|das|den|in den|im) (?:\w+ ){0,2}?(?:kontext|dokumente?n?|quellen?|text"
            r"|unterlagen|dokumentation|anleitung) .{0,40}?\b(?:nicht|nichts|keine \w+) "
            r"?.{0,20}?(?:enthalten|enthalt|erwahnt|genannt|nennt|nennen|angegeben|steht|stehen"
            r"|zu finden)"
        ),
        (
            r"(?:der|die|das) (?:\w+ ){0,2}?(?:kontext|dokumente?|quellen?|text|unterlagen"
            r"|dokumentation|anleitung) (?:enthalt|enthalten|erwahnt|erwahnen|nennt|nennen) "
            r".{0,40}?\b(?:nicht|keine)\b"
        ),
        (
            r"(?:im|in den|in der) (?:\w+ )?(?:kontext|dokumenten|text|unterlagen|dokumentation"
            r"|anleitung) (?:steht|wird|ist|gibt|finde) .{0,40}?\b(?:nicht|nichts|keine)\b"
        ),
        (
            r"(?:\w+ ){0,2}?(?:konnten?|kann|habe|haben) (?:ich|wir) .{0,40}?"
            r"\b(?:nicht|nichts|keine \w+) (?:finden|gefunden|beantworten)"
        ),
        r"es (?:gibt|liegen) (?:\w+ ){0,3}?keine (?:\w+ )?(?:informationen|angaben)",
    ),
    "fr": (
        (
            r"(?:je|nous) (?:ne |n')(?:sais|savons|trouve|trouvons|connais)\b.{0,12}?\b(?:pas"
            r"|rien|aucune?)"
        ),
        r"(?:je|nous) n'(?:ai|avons) (?:pas|rien|aucune) (?:pu |)(?:trouve|information|repondre)",
        r"(?:je|nous) ne (?:peux|pouvons|puis) pas (?:repondre|confirmer|determiner|dire|trouver)",
        (
            r"(?:le|les) (?:\w+ ){0,2}?(?:contexte|documents?|sources?|textes?) (?:\w+ "
            r"){0,2}?(?:ne |n')(?:mentionne|contien|precise|indique|fourni|inclu|parle)\w* "
            r"(?:pas|rien|aucune?)"
        ),
        r"il n'y a (?:pas d'|aucune )information",
    ),
    "es": (
        r"no lo se\b|no se(?:\W*\Z| (?:si|nada|cual|cuant[oa]s?|donde|quien)\b)",
        r"no (?:lo )?(?:encontre|encuentro|he encontrado)",
        r"no (?:puedo|pude|podemos) (?:encontrar|responder|confirmar|determinar|decir)",
        r"no (?:tengo|tenemos|dispongo de|hay) (?:\w+ )?(?:informacion|datos|acceso|certeza)",
        r"no estoy segur[oa]",
        (
            r"(?:el|los|la) (?:contexto|documentos?|informacion|documentacion|texto) (?:\w+ "
            r"){0,2}?no (?:menciona|contiene|proporciona|especifica|incluye|dice|indica)"
        ),
    ),
    "pt": (
        (
            r"(?:eu )?nao (?:sei|encontrei|(?:posso|pude|consegui) (?:encontrar|responder"
            r"|confirmar|dizer))"
        ),
        r"(?:eu )?nao (?:tenho|ha) (?:\w+ )?(?:informac|acesso|dados)",
        (
            r"(?:o|os|a) (?:contexto|documentos?|informacao|documentacao|texto) (?:\w+ "
            r"){0,2}?nao (?:menciona|contem|fornece|especifica)"
        ),
    ),
    "it": (
        r"non (?:lo )?(?:so\b|ho trovato|trovo|sono riuscit[oa] a trovare|sono sicur[oa])",
        r"non (?:posso|riesco a) (?:trovare|rispondere|confermare|dire)|non ci sono informazioni",
        r"(?:il|i|la) (?:contesto|documenti|documento|testo) non (?:menziona|contiene|specifica)",
    ),
    "nl": (
        r"(?:ik|we|wij) (?:weet|weten) (?:\w+ ){0,2}?niet",
        (
            r"(?:ik|we|wij) (?:kan|kon|konden|kunnen|heb|hebben|vond) .{0,50}\b(?:niet|niets"
            r"|geen) .{0,30}?(?:vinden|gevonden|beantwoorden|informatie)"
        ),
    ),
    "sv": (
        r"(?:jag|jeg|vi) (?:vet|ved) (?:\w+ )?(?:inte|ikke)",
        r"(?:jag|jeg|vi) (?:hittade|fant|fandt) (?:inte|ikke|inget|ingen)",
        r"(?:jag|jeg|vi) (?:kan|kunde|kunne) (?:inte|ikke) (?:hitta|finne|finde)",
    ),
    "pl": (
        (
            r"nie (?:wiem|znalazlem|znalazlam|moge (?:znalezc|odpowiedziec)|mam informacji|ma "
            r"informacji)"
        ),
    ),
    "cs": (r"nevim|nenasel|nenasla|nemohu (?:najit|odpovedet)",),
    "ru": (
        r"(?:я |мы )?не (?:знаю|знаем|нашел|нашла|нашли|уверен|уверена|удалось наити)\b",
        (
            r"(?:я |мы )?не (?:могу|можем|смог|смогла) (?:наити|ответить|подтвердить|определить"
            r"|сказать)"
        ),
        r"(?:в|у) .{0,40}\bнет (?:информации|данных|сведении)",
    ),
    "uk": (r"(?:я |ми )?не (?:знаю|знаишов|знаишла|можу (?:знаити|відповісти))",),
    "tr": (r"bilmiyorum|bulamadim|.{0,60}bilgi (?:bulamadim|yok|bulunamadi)",),
    "id": (
        (
            r"(?:saya|kami) (?:tidak|belum) (?:tahu|menemukan|yakin|(?:dapat|bisa) (?:menemukan"
            r"|menjawab)|memiliki informasi)"
        ),
    ),
    "vi": (
        (
            r"(?:toi|minh|chung toi) (?:khong|chua) (?:biet|tim thay|chac|ro|co thong tin|the "
            r"(?:tim|tra loi))"
        ),
        r"(?:khong co|khong tim thay) thong tin",
    ),
    "el": (r"δεν (?:γνωριζω|ξερω|βρηκα|μπορω να (?:βρω|απαντησω)|υπαρχουν πληροφοριες)",),
    "ar": (
        r"لا اعرف|لا اعلم|لم اجد|(?:لا استطيع|لا يمكنني) (?:العثور|الاجابه|ايجاد)|لا توجد معلومات",
    ),
    "fa": (r"نمی ?دانم|پیدا نکردم|اطلاعاتی .{0,40}(?:نیست|ندارم|نیافتم)",),
    "he": (r"(?:אני )?לא (?:יודעת?|מצאתי)",),
    "hi": (
        r"मुझे (?:\S+ ){0,6}?(?:नहीं? पता|पता नहीं?|नहीं? मालूम|जानकारी नहीं?)",
        r".{0,60}जानकारी नहीं? मिली",
    ),
    "zh": (
        r"(?:我们?|我們)?(?:也|并|並)?(?:不知道|不清楚|不确定|不確定|无法(?:回答|确定|找到)|無法(?:回答|確定|找到))",
        r"(?:我们?|我們)?(?:也|并|並)?(?:在.{1,20}[中里])?(?:没有?|沒有?|未能?)找到|(?:我们?)?(?:在.{1,20}[中里])?找不到",
        (
            r"(?:根据|在)?(?:所?提供的|给出的|上述|这份|该|本)?(?:上下文|文档|文件|资料|文本|文章|信息)(?:[中里])?(?:也|并)?(?:没有"
            r"|未)(?:提到|提及|提供|说明|包含|涉及|找到)"
        ),
    ),
    "ja": (
        r".{0,60}(?:わかりません|分かりません|見つかりません|お答えできません)",
        r".{0,60}(?:に記載(?:されていません|がありません)|情報(?:がありません|はありません))",
    ),
    "ko": (
        (
            r".{0,60}(?:모르겠습니다|모릅니다|찾을 수 없|찾지 못|정보가 없|확인할 수 없"
            r"|알 수 없습니다)"
        ),
    ),
    "th": (r".{0,20}(?:ไม่ทราบ|ไม่พบข้อมูล|ไม่มีข้อมูล|ไม่แน่ใจ|ไม่สามารถตอบ)",),
}

SOFTENERS: tuple[str, ...] = (
    r"unfortunately|sorry|however|but|i'm (?:afraid|sorry)|i am (?:afraid|sorry)|leider|aber",
    r"entschuldigung|es tut mir leid|malheureusement|desolee?|je suis desolee?|mais|lo siento",
    r"lamentablemente|pero|infelizmente|desculpe|purtroppo|mi dispiace|helaas|tyvarr|desverre",
    r"niestety|bohuzel|к сожалению|но|на жаль|maalesef|uzgunum|maaf|xin loi|rat tiec|δυστυχως|اسف",
    r"عذرا|للاسف|متاسفانه|מצטער|很?抱歉|对不起|不好意思|申し訳(?:ありません|ございません)が?|죄송합니다만?",
)
"""What a refusal may begin with, any number of times."""

BUTS: tuple[str, ...] = (
    (
        r"\b(?:but|however|though|although|aber|jedoch|mais|cependant|pero|porem|maar|но|однако"
        r"|але|ama|tetapi|nhung|لكن|ولكن|لیکن|लेकिन)\b"
    ),
    r"但|不过|しかし|하지만|แต่|;|；",
)
"""What may bring a claim after a refusal or an offer of help."""


# Pattern: phrases as regular expressions, to be matched against folded text.

_ESCAPE = re.compile(r"(\\.)")


def phrase_pattern(phrases: Iterable[str], before: str = "", after: str = "") -> re.Pattern[str]:
    """Return the pattern of the phrases, folded as the text is; escapes stay as they are."""
    parts = _ESCAPE.split(f"{before}(?:{'|'.join(phrases)}){after}")
    folded = (part if part.startswith("\\") else fold(part) for part in parts)
    return re.compile("".join(folded))


class PhrasePatterns(Mapping[str, re.Pattern[str]]):
    """Each language's phrases as a pattern, compiled when it is first asked for."""

    def __init__(self, phrases: Mapping[str, Sequence[str]], before: str = "") -> None:
        """Compile nothing yet."""
        self._phrases = phrases
        self._before = before
        self._compiled: dict[str, re.Pattern[str]] = {}

    def __getitem__(self, name: str) -> re.Pattern[str]:
        """Return the pattern of a language, by its two-letter code."""
        if name not in self._compiled:
            self._compiled[name] = phrase_pattern(self._phrases[name], self._before)
        return self._compiled[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the languages."""
        return iter(self._phrases)

    def __len__(self) -> int:
        """Return how many languages there are."""
        return len(self._phrases)


REFUSAL_PATTERNS = PhrasePatterns(REFUSALS, rf"(?:(?:{'|'.join(SOFTENERS)})\s*)*")
"""Language -> how a sentence begins, in text without commas, that says that one does not know."""


# Phrase: what people say without claiming anything, by language.

COURTESIES: tuple[str, ...] = (
    r"(?:that's |this is )?(?:a )?(?:great|good) question|hi|hello|hey|hi there|hello there",
    r"dear \w+|good (?:morning|afternoon|evening|day)|sure(?: thing)?|certainly|of course",
    r"absolutely|definitely|okay|ok|got it|understood|great|i see|(?:i )?agree(?: with you)?",
    r"thanks(?: so much| a lot)?(?: for [^,;:.]*)?|good luck|enjoy",
    r"thank you(?: (?:so|very) much)?(?: for [^,;:.]*)?|you(?:'re| are) welcome|no problem",
    r"(?:happy|glad) to help|my pleasure|sorry|yes|no|oh|wow|well|exactly|indeed|right|in summary",
    r"summary|best regards|kind regards|cheers",
    (
        r"(?:yes |oh )?(?:that|it)(?:'s| is) (?:true|right|correct|interesting|great|good|cool"
        r"|awesome)"
    ),
    r"(?:i )?apologi[sz]e(?: for [^,;:.]*)?|have a (?:nice|great|good) (?:day|one|time|evening)",
    r"hallo|guten (?:tag|morgen|abend)|gerne?|naturlich|klar|selbstverstandlich|danke(?: schon)?",
    r"vielen dank(?: fur [^,;:.]*)?|bitte(?: schon)?|gern geschehen|alles klar|entschuldigung",
    r"mit freundlichen grussen|ja|nein|bonjour|salut|bonsoir|bien sur|d'accord|avec plaisir",
    r"merci(?: beaucoup)?(?: pour [^,;:.]*)?|de rien|oui|non|excellente question|cordialement|hola",
    r"buen(?:os|as) (?:dias|tardes|noches)|claro(?: que si)?|por supuesto|muchas gracias",
    r"gracias(?: por [^,;:.]*)?|de nada|si|con gusto|ola|bom dia|boa (?:tarde|noite)|com certeza",
    r"obrigad[oa]|sim|nao|ciao|buongiorno|buonasera|certo|certamente|grazie(?: mille)?|prego",
    r"di niente|hoi|goedemorgen|goedemiddag|natuurlijk|zeker|dank (?:je|u)(?: wel)?|graag gedaan",
    r"hej|hei|god (?:morgon|morgen|dag)|sjalvklart|selvfolgelig|tack(?: sa mycket)?|takk|tak",
    r"dzien dobry|czesc|oczywiscie|jasne|dziekuje|prosze|dobry den|samozrejme|dekuji|привет",
    r"здравствуите|добрыи день|конечно|спасибо(?: за [^,;:.]*)?|пожалуиста|да|нет|вітаю",
    r"добрии день|звичаино|дякую|merhaba|selam|elbette|tabii(?: ki)?|tesekkurler|tesekkur ederim",
    r"halo|selamat (?:pagi|siang|sore|malam)|tentu(?: saja)?|terima kasih|xin chao|chao ban",
    r"tat nhien|chac chan roi|cam on(?: ban)?|γεια σας|βεβαιως|φυσικα|ευχαριστω|مرحبا|اهلا|بالطبع",
    r"بالتاكيد|شكرا(?: لك)?|نعم|لا|سلام|حتما|البته|שלום|בטח|כמובן|תודה(?: רבה)?|नमस्ते|ज़रूर|जरूर",
    r"बिल्कुल|धन्यवाद|हां|नहीं?|สวัสดี(?:ครับ|ค่ะ)?|แน่นอน(?:ครับ|ค่ะ)?|ขอบคุณ(?:ครับ|ค่ะ)?",
)

ANNOUNCEMENTS: tuple[str, ...] = (
    r"here(?:'s| is| are) (?:a|an|the|what|how|some|my|your|everything|two|three|four|five|\d+)\b",
    (
        r"(?:based on|according to|from) (?:the|your|these|this) (?:provided |given |above "
        r"|retrieved )*(?:context|document|information|text|passage|source|guide|manual)s?"
    ),
    r"hier (?:ist|sind|finden sie|is|zijn)|voici|aqui (?:tienes|tiene|estan?|estao)|ecco|вот",
    r"以下是|以下は|以下に|다음은",
)
"""Beginnings of a sentence that announces what follows it, where it ends with a colon."""

OPENINGS: Mapping[str, tuple[str, ...]] = {
    "en": (
        (
            r"(?:i|we) (?:really |sincerely )?hope (?:this|that|it|the|my) (?:\w+ "
            r"){0,2}?(?:helps?|answers?|clarif\w+|clears|was|is) ?(?:your|you|things|helpful"
            r"|useful|clear|\Z|.\Z)"
        ),
        r"(?:sure )?(?:i|we) can (?:help|assist)(?: you)?(?: with (?:this|that|it))?[!. ]*\Z",
        r"hope (?:this|that) helps|let me (?:know|explain|help|check|summari[sz]e)",
        r"(?:please )?feel free to (?:ask|contact|reach|let|share)",
        r"(?:please )?(?:do not|don't) hesitate|please (?:let me|contact me|ask me)",
        (
            r"if you (?:\w+ ){0,2}?(?:have|need|want|would like|'d like) (?:\w+ "
            r"){0,3}?(?:questions?|help|assistance|information|details|clarification|know more"
            r"|anything else)[^;]{0,60}?(?:let me|feel free|don't hesitate|do not hesitate|just "
            r"ask|ask me|i'm here|i am here|i can help|contact me)\b"
        ),
        (
            r"(?:i'm|i am|we're|we are) (?:here|happy|glad|always|ready|pleased) (?:\w+ )?(?:to "
            r"(?:help|assist|answer|explain|clarify)|if you)\b"
        ),
        r"(?:i|we)(?:'d| would) (?:be (?:happy|glad)|love) to (?:help|assist|answer|explain)",
        r"i(?:'ll| will) (?:be (?:happy|glad) to|do my best|try to) |is there anything",
        r"(?:as an|i am an|i'm an|i'm just an) (?:ai|language model|assistant)\b",
        r"(?:thank you|thanks) for (?:asking|your|reaching|the question)[^,;:.]*[.!]?\Z",
    ),
    "de": (
        r"(?:ich|wir) hoffen? (?:das|dies|diese|ihnen|dir) (?:\w+ ){0,3}?(?:hilft|helfen|geholfen)",
        r"(?:lass|lassen sie|lasst) (?:es )?mich wissen|(?:zogern sie|zogere) nicht",
        (
            r"(?:wenn|falls) (?:du|sie|ihr) (?:noch |weitere )*(?:fragen|hilfe) \w+ (?:lass"
            r"|zoger|frag|melde|kontaktier|stehe ich|helfe ich|bin ich|kann ich)"
        ),
        r"bei (?:weiteren |allen )?fragen (?:steh|helf|bin|konnen|kannst|lass|zoger|meld)",
        r"(?:kann|darf) ich (?:ihnen|dir)|gerne? (?:helfe|erklare) ich",
    ),
    "fr": (
        r"(?:j'espere|nous esperons) que (?:cela|ca|ceci|cette|ces|ma) ",
        r"n'hesitez pas a (?:me|nous)|si vous avez (?:d'autres|des|la moindre) questions?",
        r"faites.moi savoir|puis.je vous|je (?:suis|reste) (?:la pour|a votre disposition)",
    ),
    "es": (
        r"espero que (?:esto|eso|te|le|la|esta)",
        r"no dud(?:es|e) en (?:pregunt|contact|consult|decir)",
        r"si (?:tienes|tiene|necesitas|necesita) (?:mas|alguna|otras?) (?:preguntas?|dudas?|ayuda)",
        r"hazme saber|(?:estoy|estamos) (?:aqui para|a (?:tu|su) disposicion)",
    ),
    "pt": (
        r"espero que (?:isso|isto|esta|tenha)|nao hesite em (?:pergunt|contat)|fique a vontade",
        (
            r"se (?:voce )?(?:tiver|precisar) (?:de )?(?:mais|alguma|outras?) (?:perguntas?"
            r"|duvidas?|ajuda)"
        ),
        r"me avise",
    ),
    "it": (
        r"spero che (?:questo|cio|queste|ti|le)|non esitare a (?:chied|contatt)|fammi sapere",
        r"se hai (?:altre domande|bisogno di aiuto)",
    ),
    "nl": (r"ik hoop dat (?:dit|deze|het)|laat (?:het )?(?:me|mij) weten|aarzel niet",),
    "sv": (r"jag hoppas (?:att )?(?:det|detta)|hor av dig",),
    "pl": (r"mam nadzieje|daj mi znac|jesli masz (?:wiecej |jakies )?pytania",),
    "ru": (
        r"надеюсь|(?:если|в случае) у вас (?:есть|остались|возникнут) (?:\w+ )?вопросы",
        r"даите мне знать|не стесняитесь|обращаитесь",
    ),
    "tr": (r"umarim (?:bu|yardimci)|baska bir sorunuz",),
    "id": (r"semoga (?:ini|informasi|jawaban)|jangan ragu",),
    "vi": (
        r"(?:toi |minh )?hy vong (?:dieu|thong tin|cau)|dung ngan ngai",
        r"neu ban (?:can them|co them|co cau|con cau)|hay cho (?:toi|minh) biet",
    ),
    "ar": (r"آمل ان|امل ان|اتمنى ان|لا تتردد|اخبرني",),
    "fa": (r"امیدوارم",),
    "he": (r"אני מקוו?ה|אל תהסס",),
    "hi": (r"आशा है|मुझे उम्मीद है|(?:अगर|यदि) आपको? (?:\S+ ){0,3}?(?:सहायता|मदद|प्रश्न|सवाल)",),
    "zh": (
        r"希望[^。]{0,12}(?:帮|幫|有用)|如果(?:您|你)?(?:还|還)?有(?:任何|其他|更多)*(?:问题|問題|疑问|疑問)",
        r"如有(?:任何|其他)*(?:问题|問題|疑问|疑問|需要)|请(?:随时|告诉我|让我知道)|請(?:隨時|告訴我)",
    ),
    "ja": (r"お役に立|ご不明な点|何か(?:ご質問|質問)",),
    "ko": (r"도움이 되|궁금한|추가 질문|다른 질문",),
    "th": (r"หวังว่า(?:ข้อมูล|คำตอบ|จะ|นี่|สิ่งนี้)|หากคุณ(?:มีคำถาม|ต้องการความช่วยเหลือ)|ถ้ามีคำถาม",),
}
