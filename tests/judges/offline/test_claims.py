import re

from tests.cases import each_case

from ragstone._internal.marks import NOUNS, remove_mentions
from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.judge import verify_claims
from ragstone.types.claim import Label


def texts(response):
    return [claim.text for claim in extract_claims(response)]


CHATTER = (
    "| \n|Sure!|Of course. Great question!|I hope this helps!|Let me know if you have questions.|"
    "I'm sorry, but I could not find anything about that in the documentation.|I don't know.|"
    "The provided context does not mention the weight of the lamp.|Sure, I can help with that.|"
    "Unable to answer based on given passages.|Good luck!|Do you want to know more?|**Summary**|"
    "Here are the steps:|# How to clean a kettle|```\nkettle = boil(1)\n```|---|"
    "I could not find that in the guide [1].|The documents do not mention it.|"
    "There is no information about the price.|It is not mentioned in the text.|"
    "If you need more help, let me know.|Thank you for your question!|Here are the 3 steps:|"
    "Natürlich! Ich hoffe, das hilft Ihnen.|Das weiß ich leider nicht.|"
    "Dazu konnte ich in den Unterlagen nichts finden.|Leider konnte ich das nicht finden.|"
    "Wenn Sie weitere Fragen haben, lassen Sie es mich wissen.|Je ne sais pas.|"
    "N'hésitez pas à me demander.|Je n'ai pas trouvé d'information.|No lo sé.|"
    "Espero que esto ayude.|Não sei.|Non lo so.|Ik weet het niet.|Я не знаю.|"
    "К сожалению, я не нашёл информации об этом.|Bilmiyorum.|Tôi không biết.|我不知道。|"
    "很抱歉，我没有找到相关信息。|希望对您有帮助！|上下文中没有提到价格。|わかりません。|모르겠습니다.|"
    "لا أعرف.|मुझे नहीं पता।|ฉันไม่ทราบ|好的。|谢谢！|はい。|总结"
).split("|")


@each_case("response", CHATTER)
def test_chatter_is_no_claim(response):
    assert texts(response) == []


STATEMENTS = (
    "The kettle boils in 22 minutes.|I owned a kettle in 1999.|The kettle does not boil milk.|"
    "There is no lid on the kettle.|Hope is a town in Arkansas.|Unable workers are paid in full.|"
    "We can help with that boiler and its pump.|It weighs 3 kg.|Der Kessel kocht nicht.|"
    "La bouilloire ne chauffe pas le lait.|El hervidor no calienta la leche.|"
    "Чайник не кипятит молоко.|水壶不能加热牛奶。|電池は取り外せません。|بطارية الهاتف ثابتة.|"
    "बैटरी नहीं हटाई जा सकती।|แบตเตอรี่ถอดไม่ได้|红色。|赤い。|免费。|फ्री है।|"
    # what begins like chatter can be a claim
    "It is not possible to charge it wirelessly.|We do not ship to Canada.|"
    "Wir haben sonntags nicht geöffnet.|本产品没有提供保修。|I don't recommend removing it.|"
    "There is nothing in the box.|The manual is not available in French.|"
    "We will help you replace the battery within 14 days.|We hope to open a shop in May.|"
    "If you need more storage, insert a card of up to 512 GB.|We are happy to announce 5G support.|"
    "Thanks for asking; the phone weighs 180 g.|Der Text der Nachricht wird nicht gespeichert.|"
    "Wenn Sie Hilfe brauchen, rufen Sie 112.|Nous ne livrons pas en Suisse.|"
    "Si tienes más de 18 años, puedes entrar.|No tengo coche.|如果还有电,手机可以使用两小时。|"
    "No se puede quitar la batería.|I don't know the weight, but the phone is light.|"
    "We are happy to announce a new model.|The guide does not include a map of the town.|"
    # words that are function words or chatter in another language
    "Soldiers die in every war.|The nun confessed a sin."
).split("|")


@each_case("response", STATEMENTS)
def test_a_statement_is_a_claim(response):
    assert texts(response) == [response]


def test_markers_are_left_out_and_the_span_still_fits():
    response = "Sure! Steps:\n1. Fill the kettle with water.\n- **Close the lid firmly.**\n> Wait."
    claims = extract_claims(response)
    told = [claim.text for claim in claims][:2]
    assert told == ["Fill the kettle with water.", "Close the lid firmly."]
    assert all(claim.text == response[slice(*claim.span)] for claim in claims)
    assert texts("Yes, the lid opens. It is red paint. The  LID opens.") == [
        "the lid opens.",
        "It is red paint.",
    ]


MENTIONS = (
    "Passage 1:|**Passage 2**:|Based on the provided passages:|(see Document 2)|"
    "According to the context,"
).split("|")


@each_case("mention", MENTIONS)
def test_a_mention_of_a_source_alone_is_not_a_claim(mention):
    boils = "The kettle boils in 22 minutes."
    assert texts(f"{mention}\n\n{boils}") == [boils]


@each_case(
    "claim",
    [
        "The kettle boils milk (Passage 2).",
        "The kettle boils milk [Document 1, Document 3].",
        "The kettle boils milk.²",
        "According to Passage 2, the kettle boils milk.",
        "Based on the provided passages, the kettle boils milk.",
        "The retrieved documents state that the kettle boils milk.",
        "Passage 1: the kettle boils milk.",
        "As stated in the context, the kettle boils milk.",
    ],
)
def test_mentions_of_sources_do_not_count_as_words_or_figures(claim):
    plain = " ".join(remove_mentions(claim).lower().split())
    assert plain.replace(" .", ".") == "the kettle boils milk."
    (verdict,) = verify_claims([claim], ["The kettle boils milk."])
    assert verdict.label is Label.SUPPORTED


MARKS = (
    "(1)|［1］|（1）|{1}|<1>|^1|<sup>1</sup>|<cite>1</cite>|(Source: doc1)|(Smith, 2020)|[p. 3]|"
    "[Source: manual.pdf, p. 3]|— Passage 1|(page 3)|（来源1）|[d1, d9]|【1†source】|¹|[1][2]|(d1)|"
    "(Smith et al., 2020)|(see Document 2)|[guide]|[doc-7]|(1)(2)|[^1]|[https://x.org/a]"
).split("|")


@each_case("mark", [*MARKS, "Source: Passage 1"])
@each_case("form", ["The kettle boils milk {}.", "The kettle boils milk. {}", "壶是红色的。{}"])
def test_a_copied_sentence_with_a_mark_is_supported(mark, form):
    if mark.startswith("Source") and form.endswith("{}."):
        return  # a label begins a sentence
    claims = texts(form.format(mark))
    verdicts = verify_claims(claims, [form.replace("{}", "").replace(" .", ".").strip()])
    assert [verdict.label for verdict in verdicts] == [Label.SUPPORTED]


@each_case("mark", MARKS)
def test_a_refusal_with_a_mark_is_no_claim(mark):
    assert texts(f"I don't know {mark}.") == []


@each_case(
    ("claim", "rest"),
    [
        ("Laut Dokument 3 kocht der Kessel.", "kocht der Kessel."),
        ("Selon le passage 2, la lampe est rouge.", "la lampe est rouge."),
        ("Según el contexto, la tapa es roja.", "la tapa es roja."),
        ("दस्तावेज़ 2 के अनुसार, बैटरी नई है।", "बैटरी नई है।"),
        ("根据提供的资料，水壶是红色的。", "水壶是红色的。"),
    ],
)
def test_mentions_are_removed_in_other_languages(claim, rest):
    assert remove_mentions(claim).strip() == rest


OTHER_USES = (
    "The contract is based on Swedish law.|She said it in the context of the war.|"
    "Documents are stored for 7 years.|The river has its source 3 km from Graz.|"
    "According to the mayor, 5 people were hurt.|The hall is 10 m² (100 square feet).|"
    "The hall is 10 m².|Press (1) to open the lid.|It is for the disease (COVID-19).|"
    "The war (1914) was long.|He won it (5 of 7).|Take the [red] lid off."
).split("|")


@each_case("claim", OTHER_USES)
def test_other_uses_of_these_words_stay(claim):
    assert remove_mentions(claim) == claim


def test_every_noun_of_a_source_is_a_mention() -> None:
    for pattern in NOUNS.split("|"):
        noun = re.sub(r".\?|\\w\*", "", pattern)
        assert remove_mentions(f"The provided {noun} states that it is red") == " it is red", noun


@each_case("piece", ["the provided ", "passage 1, 2 and ", "(see ", "according to ", "[1, "])
def test_long_texts_of_mentions_end(piece, huge):
    assert len(remove_mentions((piece * huge)[:huge])) <= huge
