"""Chatter: the sentences of a response that claim nothing.

Greetings, courtesies, questions to the user, announcements, headings, code, and saying that one
does not know. The patterns of a language match whole openings of a sentence, not single words, so
that they do not match in another language.
"""

import re

from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.words import fold, split_words

SHORT = 6
"""Letters below which a text without spaces between words is too short to claim anything."""
OPENING = 400
"""Characters of a sentence that are looked at; chatter is short."""

_COURTESIES = """hi|hello|hey|hi there|hello there|dear \\w+|good (?:morning|afternoon|evening|day)|
sure(?: thing)?|certainly|of course|absolutely|definitely|okay|ok|got it|understood|
great(?: question)?|
(?:that's|this is) a (?:great|good) question|good question|thanks?(?: you)?(?: (?:so|
very) much)?(?: for.*)?|
you(?:'re| are) welcome|no problem|happy to help|glad to help|my pleasure|sorry|yes|no|oh|wow|
well|exactly|indeed|right|(?:yes |oh )?(?:that|it)(?:'s| is) (?:true|right|correct|interesting|
great|good|cool|awesome)|
(?:i )?agree(?: with you)?|i see|(?:i )?apologi[sz]e.*|best regards|kind regards|cheers|
have a (?:nice|great|good).*|in summary|summary|
hallo|guten (?:tag|morgen|abend)|gerne?|naturlich|klar|selbstverstandlich|danke(?: schon)?|
vielen dank(?: fur.*)?|bitte(?: schon)?|gern geschehen|alles klar|entschuldigung|
mit freundlichen grussen|
ja|nein|bonjour|salut|bonsoir|bien sur|d'accord|avec plaisir|merci(?: beaucoup)?(?: pour.*)?|
de rien|
oui|non|excellente question|cordialement|hola|buen(?:os|as) (?:dias|tardes|noches)|
claro(?: que si)?|
por supuesto|gracias(?: por.*)?|muchas gracias|de nada|si|con gusto|ola|bom dia|boa (?:tarde|
noite)|
com certeza|obrigad[oa]|sim|nao|ciao|buongiorno|buonasera|certo|certamente|grazie(?: mille)?|
prego|
di niente|hoi|goedemorgen|goedemiddag|natuurlijk|zeker|dank (?:je|u)(?: wel)?|graag gedaan|hej|
hei|
god (?:morgon|morgen|dag)|sjalvklart|selvfolgelig|tack(?: sa mycket)?|takk|tak|dzien dobry|
czesc|
oczywiscie|jasne|dziekuje|prosze|dobry den|samozrejme|dekuji|привет|здравствуйте|добрый день|
конечно|
спасибо(?: за.*)?|пожалуиста|да|нет|вітаю|добрии день|звичаино|дякую|merhaba|selam|elbette|
tabii(?: ki)?|
tesekkurler|tesekkur ederim|halo|selamat (?:pagi|siang|sore|malam)|tentu(?: saja)?|terima kasih|
xin chao|chao ban|tat nhien|chac chan roi|cam on(?: ban)?|γεια σας|βεβαιως|φυσικα|ευχαριστω|
مرحبا|اهلا|بالطبع|بالتاكيد|شكرا(?: لك)?|نعم|لا|سلام|حتما|البته|שלום|בטח|כמובן|תודה(?: רבה)?|
नमस्ते|ज़रूर|जरूर|बिल्कुल|धन्यवाद|हां|नहीं?|สวัสดี(?:ครับ|ค่ะ)?|แน่นอน(?:ครับ|ค่ะ)?|ขอบคุณ(?:ครับ|
ค่ะ)?"""

_OPENINGS = """(?:i|we) (?:really |sincerely )?hope (?:this|that|it|these|you|the)|
hope (?:this|that) help|
let me (?:know|explain|help|check|summari[sz]e)|feel free to|(?:please )?(?:do not|
don't) hesitate|
if you (?:have|need|want|would like|'d like) (?:any |more |further |additional |me |help|
to know|some )|
please (?:let me|feel free|contact me|ask)|(?:i'm|i am|we're|we are) (?:here|happy|glad|always|
pleased|ready)
 (?:to|if)|is there anything|(?:i|we)(?:'d| would) (?:be (?:happy|glad)|love) to|
(?:i|we)(?:'ll| will) (?:be (?:happy|glad) to|do my best|try to|help|explain)|
here(?:'s| is| are) (?:a|an|the|what|how|some|my|your|everything|two|three|four|five)\\b.*:$|
(?:as an|i am an|i'm an|i'm just an) (?:ai|language model|assistant)|thank you for|thanks for|
(?:based on|according to|from) (?:the|your|these|this) (?:provided |given |above |retrieved )*
(?:context|documents?|information|text|passages?|sources?)s?[^.]{0,40}:$|
(?:ich|wir) (?:hoffe|hoffen)\\b|(?:lass|lassen sie|lasst) (?:es )?mich wissen|(?:zogern sie|
zogere) nicht|
(?:wenn|falls|bei) (?:du|sie|ihr) (?:noch |weitere )*(?:fragen|hilfe)|(?:kann|
darf) ich (?:ihnen|dir)|
bei (?:weiteren )?fragen|gerne? (?:helfe|erklare)|hier (?:ist|sind|finden sie)\\b.*:$|
j'espere|nous esperons|n'hesitez pas|si vous avez (?:d'autres |des |besoin)|faites.moi savoir|
voici\\b.*:$|je (?:suis|reste) (?:la|a votre)|puis.je vous|espero que|no dud(?:es|e) en|
si (?:tienes|tiene|necesitas|necesita) (?:mas|alguna|ayuda|otra)|hazme saber|aqui (?:tienes|
estan?|tiene)\\b.*:$|
(?:estoy|estamos) (?:aqui|a tu|a su)|se (?:voce )?(?:tiver|precisar) (?:mais|alguma|de)|
nao hesite|fique a vontade|me avise|aqui (?:esta|estao)\\b.*:$|spero che|non esitare|
fammi sapere|
se hai (?:altre|bisogno)|ecco\\b.*:$|ik hoop dat|laat (?:het )?(?:me|mij) weten|aarzel niet|
hier (?:is|zijn)\\b.*:$|jag hoppas|hor av dig|mam nadzieje|daj mi znac|jesli masz (?:wiecej|
pytania)|
надеюсь|(?:если|в случае) у вас (?:есть|остались|возникнут)|даите (?:мне )?знать|не стесняитесь|
обращаитесь|вот\\b.*:$|umarim|baska bir sorunuz|semoga (?:ini |informasi |jawaban )?|
jangan ragu|
(?:toi |minh )?hy vong|neu ban (?:can|co|muon)|dung ngan ngai|hay cho (?:toi|minh) biet|
آمل|اتمنى|لا تتردد|اخبرني|امیدوارم|אני מקוו?ה|אל תהסס|आशा है|मुझे उम्मीद है|अगर आपको|यदि आपको|
希望[^。]{0,12}(?:帮|幫|有用)|如果(?:您|你)?(?:还|還|有)|如有|请(?:随时|告诉我|让我知道)|
請(?:隨時|告訴我)|以下是|
お役に立|ご不明な点|何か(?:ご質問|質問)|以下は|以下に|도움이|궁금한|추가 질문|다음은|다른 질문|
หวังว่า|หากคุณ(?:มี|ต้องการ)|ถ้ามีคำถาม"""

_REFUSALS = """(?:unfortunately |sorry |i'm afraid |i'm sorry |but |however )*(?:i|we)
 (?:really |currently |also |simply )?(?:do not|don't|cannot|can't|could not|couldn't|
was not able to|
were not able to|wasn't able to|am not able to|am unable to|was unable to|did not|didn't|
was not|
have no|had no|have not|haven't|found no|found nothing)
 ?(?:know|find|locate|have|see|answer|provide|determine|confirm|tell|say|information|access|
idea|any|been|
 )?.*|(?:unfortunately |sorry |however )*(?:i'm|i am|we're|we are) (?:not sure|not certain|
unsure|unable|
not aware|afraid|sorry|not able).*|(?:unfortunately |sorry |however )*(?:the|these|this|your|
my) (?:\\w+ ){0,3}?(?:contexts?|documents?|documentation|
passages?|information|sources?|texts?|excerpts?|manuals?|guides?|materials?|articles?|data)
 (?:\\w+ ){0,2}?(?:does not|do not|doesn't|don't|did not|didn't|is not|isn't|are not|aren't)
 (?:\\w+ )?(?:contain|mention|provide|specify|specif|include|say|state|address|cover|give|
discuss|
describe|explain|indicate|sufficient|enough|available).*|(?:unfortunately )?there (?:is|was|are|
were)
 (?:no|not enough|insufficient|nothing) (?:\\w+ )?(?:information|mention|details?|data|about|
in the).*|
no (?:relevant )?information.*|it (?:is|was) not (?:clear|mentioned|specified|stated|
possible to).*|
(?:leider |aber )*(?:ich|wir) (?:weiss|wissen|kann|konnte|konnten|konnen|habe|haben|finde|fand|
bin)
 .{0,80}\\b(?:nicht|nichts|keine|keinen|unsicher)\\b.*|
(?:das|es) weiss ich .{0,30}nicht.*|(?:dazu|daruber|hierzu|
hieruber) .{0,60}\\b
(?:nichts|keine|nicht)\\b.*|(?:der|die|das|den|in den|im) (?:\\w+ ){0,2}?(?:kontext|
dokumente?n?|
informationen|quellen?|text|unterlagen|dokumentation) .{0,60}\\b(?:nicht|nichts|keine|
keinen)\\b.*|
(?:leider )?es (?:gibt|liegen) .{0,30}keine (?:\\w+ )?(?:informationen|angaben).*|
(?:malheureusement |desolee? |je suis desolee? )*(?:mais )?(?:je|nous) (?:ne|
n') ?\\w+.{0,12} (?:pas|rien|aucune?)\\b.*|
(?:malheureusement )?(?:je|nous) n'\\w+ (?:pas|rien|aucune?)\\b.*|(?:le|
les) (?:\\w+ ){0,2}?(?:contexte|documents?|sources?)
 .{0,30}\\b(?:ne|n')\\b.{0,40}\\b(?:pas|rien|aucune)\\b.*|il n'y a (?:pas|
aucune) (?:d')?information.*|
(?:lo siento |lamentablemente )*(?:pero )?no (?:lo )?(?:se|puedo|pude|tengo|encontre|
he encontrado|encuentro|
hay informacion|dispongo|estoy segur[oa])\\b.*|(?:el|los|la) (?:contexto|documentos?|
informacion|documentacion) .{0,30}
\\bno (?:menciona|contiene|proporciona|especifica|incluye|dice|indica)n?.*|
(?:infelizmente |desculpe )*(?:eu )?nao (?:sei|posso|pude|consegui|tenho|encontrei|
ha informac)\\w*\\b.*|
(?:o|os|a) (?:contexto|documentos?|informacao|documentacao) .{0,30}\\bnao (?:menciona|contem|
fornece|especifica).*|
(?:purtroppo |mi dispiace )*(?:ma )?non (?:lo )?(?:so|posso|ho trovato|sono riuscit[oa]|
sono sicur[oa]|ci sono informazioni)\\b.*|
(?:helaas )?(?:ik|we|wij) (?:weet|kan|kon|heb|vond|konden).{0,60}\\b(?:niet|niets|geen)\\b.*|
(?:tyvarr |desverre )?(?:jag|jeg|vi) (?:vet|kan|kunde|hittade|fant|fandt|har|
ved).{0,60}\\b(?:inte|ikke|inget|intet|ingen)\\b.*|
(?:niestety )?nie (?:wiem|moge|znalazlem|znalazlam|mam (?:informacji|pewnosci)|
ma informacji)\\b.*|
(?:bohuzel )?(?:nevim|nemohu|nenasel|nenasla)\\b.*|
(?:к сожалению )?(?:но )?(?:я |мы )?не (?:знаю|могу|можем|смог|смогла|нашел|нашла|нашли|удалось|
уверен|уверена)\\b.*|
(?:к сожалению )?(?:в|у) .{0,40}\\bнет (?:информации|данных|сведении).*|
(?:на жаль )?(?:я |ми )?не (?:знаю|можу|знаишов|знаишла)\\b.*|(?:maalesef |
uzgunum )?(?:bilmiyorum|bulamadim|.{0,60}bilgi (?:bulamadim|yok|bulunamadi)).*|
(?:maaf )?(?:saya|kami) (?:tidak|belum) (?:tahu|dapat|bisa|menemukan|yakin|memiliki)\\b.*|
(?:xin loi )?(?:rat tiec )?(?:toi|minh|chung toi) (?:khong|chua) (?:biet|the|tim|co|chac|
ro)\\b.*|
(?:khong co|khong tim thay) thong tin.*|(?:δυστυχως )?δεν (?:γνωριζω|ξερω|βρηκα|μπορω|
υπαρχουν πληροφοριες)\\b.*|
(?:اسف |عذرا |للاسف )?(?:لا اعرف|لا اعلم|لم اجد|لا استطيع|لا يمكنني|لا توجد معلومات|لا يذكر).*|
(?:متاسفانه )?(?:نمی ?دانم|پیدا نکردم|اطلاعاتی .{0,40}(?:نیست|ندارم|نیافتم)).*|
(?:מצטער )?(?:אני )?(?:לא יודעת?|לא מצאתי|לא יכולה?)\\b.*|.{0,60}(?:मुझे (?:नहीं? पता|
जानकारी नहीं?)|मुझे नहीं? मालूम|जानकारी नहीं? (?:मिली|है)).*|
.{0,40}(?:我不知道|我不清楚|我不确定|无法回答|無法回答|无法确定|没有(?:找到|提到|提供|提及|
相关信息)|沒有(?:找到|提到|提供|提及)|未(?:找到|提及|提供)|找不到).*|
.{0,60}(?:わかりません|分かりません|見つかりません|記載(?:されていません|がありません)|
情報(?:がありません|はありません)|お答えできません).*|
.{0,60}(?:모르겠습니다|모릅니다|찾을 수 없|찾지 못|정보가 없|확인할 수 없|알 수 없습니다).*|
.{0,60}(?:ไม่ทราบ|ไม่พบข้อมูล|ไม่มีข้อมูล|ไม่แน่ใจ|ไม่สามารถตอบ).*"""


def _pattern(alternatives: str, ending: str) -> re.Pattern[str]:
    """Return the pattern of the alternatives, folded as the text is; line breaks mean nothing."""
    return re.compile(f"(?:{fold(alternatives).replace(chr(10), '')}){ending}", re.DOTALL)


_COURTESY = _pattern(_COURTESIES, r"(?:[,!.…:;）)\s]+|\Z)")
_OPENING = _pattern(_OPENINGS, "")
_REFUSAL = _pattern(_REFUSALS, r"\Z")
_FOLDED = re.compile(r"[\u200b\u200e\u200f\ufeff]")
_HEADING = re.compile(r"\s*(?:#{1,6}\s|```|~~~|\*\*[^*]+\*\*:?\s*\Z)")
_QUESTION = re.compile(r"[?？؟;⸮]['\"”’»)\]*_\s]*\Z")
_GREEK = re.compile("[\u0370-\u03ff]")
_TABLE_RULE = re.compile(r"[\s|:+=_*~.-]*\Z")


def is_chatter(sentence: str, language: Language) -> bool:
    """Tell whether a sentence claims nothing that a context could back.

    Questions, headings, code, courtesies, announcements and honest refusals claim nothing, nor
    does a sentence without a word that has content.
    """
    if _HEADING.match(sentence) or _TABLE_RULE.match(sentence) or _is_question(sentence):
        return True
    plain = _FOLDED.sub("", fold(sentence[:OPENING])).strip(" \t\r\n*_>-\"'“”¡¿")
    return (
        _is_courtesy(plain)
        or _OPENING.match(plain) is not None
        or (len(sentence) <= OPENING and _REFUSAL.match(_without_commas(plain)) is not None)
        or _says_nothing(sentence, language)
    )


def _is_question(sentence: str) -> bool:
    mark = _QUESTION.search(sentence[-40:])
    return mark is not None and (mark[0][0] != ";" or _GREEK.search(sentence) is not None)


def _is_courtesy(plain: str) -> bool:
    """Tell whether the text is courtesies and nothing else."""
    while match := _COURTESY.match(plain):
        plain = plain[match.end() :]
        if not plain:
            return True
    return not plain


def _without_commas(plain: str) -> str:
    return plain.replace(",", "").replace("、", "").replace("،", "")


def _says_nothing(sentence: str, language: Language) -> bool:
    words = split_words(sentence[:OPENING])
    if any(word.form.isdigit() for word in words) and len(words) > 1:
        return False
    if words and all(word.gram for word in words):
        return sum(map(str.isalpha, sentence)) < SHORT
    said = [
        word
        for word in words
        if len(word.form) > 1
        and word.form not in language.function_words
        and not word.form.isdigit()
    ]
    label = sentence.rstrip(" *_").endswith((":", "："))
    return len(said) < (4 if label else 1) or len(words) < 2
