import pytest
from tests.cases import each_case

from ragstone._internal.sentences import QuoteFinder, find_quote
from ragstone.errors import JudgeError
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims


@each_case("label", ["supported", "Supported", "SUPPORTED"])
def test_labels_of_a_users_own_judge_may_have_any_case(label: str) -> None:
    question = VerifyClaims(claims=("x",), contexts=("x",))
    assert question.reply([{"label": label}]).value[0].label is Label.SUPPORTED


@each_case(("confidence", "right"), [(0, True), (1, True), (1.2, False), (-0.1, False)])
def test_a_confidence_is_a_probability(confidence: float, right: bool) -> None:
    question = VerifyClaims(claims=("x",), contexts=("x",))
    value = [{"label": "SUPPORTED", "confidence": confidence}]
    if right:
        assert question.reply(value).value[0].confidence == confidence
    else:
        with pytest.raises(JudgeError):
            question.reply(value)


TEXT = "The  battery lasts\n20 hours – not 25. It’s “big”; THE CASE is red.  "


@each_case("quote", ["", " \n", "25 hours", "It is “big”", "thebattery", "TEXT"])
def test_a_quote_that_does_not_stand_there_is_not_found(quote: str) -> None:
    assert QuoteFinder(TEXT).find(quote) is None
    assert QuoteFinder("").find(quote) is None


def test_offsets_hold_after_letters_whose_small_form_is_longer() -> None:
    text = "İİ İstanbul ẞ  ΟΔΟΣ Σ"
    assert QuoteFinder(text).find("istanbul") == (3, 11)
    assert QuoteFinder(text).find("οδος σ") == (15, 21)


RESPONSE = "The X200 has a big battery. It lasts 20 hours on one charge. It costs $9. 它是红色的。"
SENTENCES = [(0, 27), (28, 60), (61, 73), (74, 80)]


@each_case(
    ("claim", "place"),
    [
        ("It lasts 20 hours on one charge.", (28, 60)),
        ("The X200 battery lasts 20 hours on one charge.", (28, 60)),
        ("红色的是它", (74, 80)),
        *((text, None) for text in ("The X200 is made of glass.", "It is it.", "", "?!")),
    ],
)
def test_a_claim_stands_where_most_of_its_words_do(claim: str, place: object) -> None:
    assert find_quote(claim, RESPONSE, SENTENCES) == place
    two_sentences = "The red lamp is on. The lamp is red."
    assert find_quote("The lamp was red.", two_sentences, [(0, 19), (20, 36)]) is None
    assert find_quote("is big", "It is big", []) == (3, 9)
    assert find_quote("is large", "It is big", []) is None
