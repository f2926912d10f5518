import pytest

from ragstone.judges.offline.extraction import extract_claims


def texts(response):
    return [claim.text for claim in extract_claims(response)]


@pytest.mark.parametrize(
    "response",
    [
        "",
        " \n",
        "Sure!",
        "Of course. Great question!",
        "I hope this helps!",
        "Let me know if you have any questions.",
        "I don't know.",
        "I'm sorry, but I could not find anything about that in the documentation.",
        "The provided context does not mention the weight of the lamp.",
        "Do you want to know more?",
        "Here are the steps:",
        "# How to clean a kettle",
        "**Summary**",
        "```\nkettle = boil(1)\n```",
        "---",
        "Natürlich! Ich hoffe, das hilft Ihnen.",
        "Das weiß ich leider nicht.",
        "Dazu konnte ich in den Unterlagen nichts finden.",
        "Je ne sais pas.",
        "N'hésitez pas à me demander.",
        "No lo sé.",
        "Espero que esto ayude.",
        "Não sei.",
        "Non lo so.",
        "Ik weet het niet.",
        "Я не знаю.",
        "К сожалению, я не нашёл информации об этом.",
        "Bilmiyorum.",
        "Tôi không biết.",
        "我不知道。",
        "很抱歉，我没有找到相关信息。",
        "希望对您有帮助！",
        "わかりません。",
        "모르겠습니다.",
        "لا أعرف.",
        "मुझे नहीं पता।",
        "ฉันไม่ทราบ",
    ],
)
def test_chatter_is_no_claim(response):
    assert texts(response) == []


@pytest.mark.parametrize(
    "response",
    [
        "The kettle boils in 22 minutes.",
        "I owned a kettle in 1999.",
        "The kettle does not boil milk.",
        "There is no lid on the kettle.",
        "Hope is a town in Arkansas.",
        "It weighs 3 kg.",
        "Der Kessel kocht nicht.",
        "La bouilloire ne chauffe pas le lait.",
        "El hervidor no calienta la leche.",
        "Чайник не кипятит молоко.",
        "水壶不能加热牛奶。",
        "電池は取り外せません。",
        "بطارية الهاتف ثابتة.",
        "बैटरी नहीं हटाई जा सकती।",
        "แบตเตอรี่ถอดไม่ได้",
    ],
)
def test_a_statement_is_a_claim(response):
    assert texts(response) == [response]


def test_markers_are_left_out_and_the_span_still_fits():
    response = "Sure! Steps:\n1. Fill the kettle with water.\n- **Close the lid firmly.**\n> Wait."
    claims = extract_claims(response)
    assert [claim.text for claim in claims][:2] == [
        "Fill the kettle with water.",
        "Close the lid firmly.",
    ]
    assert all(claim.text == response[slice(*claim.span)] for claim in claims)


def test_an_opening_yes_is_left_out():
    assert texts("Yes, the lid opens.") == ["the lid opens."]


def test_equal_claims_are_one_claim():
    assert texts("The lid opens. It is red paint. The  LID opens.") == [
        "The lid opens.",
        "It is red paint.",
    ]


def test_a_list_of_one_language_does_not_silence_another():
    # "die", "war", "nun" and "sin" are function words or chatter elsewhere
    assert texts("Soldiers die in every war.") == ["Soldiers die in every war."]
    assert texts("The nun confessed a sin.") == ["The nun confessed a sin."]
