import pytest
from pydantic import ValidationError
from tests.cases import each_case

from ragstone._internal.sentences import QuoteFinder, find_quote
from ragstone.types.claim import Claim, Evidence, JudgedClaim, Label, Verdict
from ragstone.types.questions import VerifyClaims

EVIDENCE = Evidence(context=0, start=3, end=11, quote="20 hours", verified=True)


def test_the_labels_are_the_four_of_the_design() -> None:
    names = ["SUPPORTED", "PARTIALLY_SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO"]
    assert [str(label) for label in Label] == names


def test_a_judged_claim_has_everything_of_claim_and_verdict() -> None:
    claim = Claim(text="It lasts 20 hours.", span=(0, 18))
    verdict = Verdict(label="SUPPORTED", reason="said so", evidence=(EVIDENCE,), confidence=0.9)
    judged = JudgedClaim.of(claim, verdict)
    assert judged.model_dump() == {
        **claim.model_dump(),
        **verdict.model_dump(),
        "against": "contexts",
    }


def test_what_is_not_said_is_none() -> None:
    judged = JudgedClaim.of(Claim(text="x"), Verdict(label=Label.CONTRADICTED))
    assert (judged.span, judged.reason, judged.confidence, judged.evidence) == (None,) * 3 + ((),)


@each_case("label", ["supported", "Supported", "SUPPORTED"])
def test_labels_of_a_users_own_judge_may_have_any_case(label: str) -> None:
    question = VerifyClaims(claims=("x",), contexts=("x",))
    assert question.reply([{"label": label}]).value[0].label is Label.SUPPORTED


@each_case("label", ["support", "yes", "", None, 1])
def test_a_label_is_one_of_the_four(label: object) -> None:
    with pytest.raises(ValidationError):
        Verdict(label=label)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan"), float("inf")])
def test_confidence_is_a_share(confidence: float) -> None:
    with pytest.raises(ValidationError):
        Verdict(label=Label.SUPPORTED, confidence=confidence)


@pytest.mark.parametrize("confidence", [0, 0.5, 1])
def test_both_ends_are_confidences(confidence: float) -> None:
    assert Verdict(label=Label.SUPPORTED, confidence=confidence).confidence == confidence


def test_contexts_are_counted_from_0() -> None:
    assert EVIDENCE.context == 0
    with pytest.raises(ValidationError):
        Evidence(context=-1, quote="x", verified=False)


def test_a_quote_that_was_not_found_has_no_place() -> None:
    evidence = Evidence(context=2, quote="25 hours", verified=False)
    assert (evidence.start, evidence.end) == (None, None)


def test_claims_and_verdicts_are_frozen() -> None:
    for noun, field in ((Claim(text="x"), "text"), (Verdict(label="SUPPORTED"), "label")):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(noun, field, "y")


TEXT = "The  battery lasts\n20 hours – not 25. It’s “big”; THE CASE is red.  "


@each_case(
    ("quote", "found"),
    [
        ("It’s “big”", "It’s “big”"),
        (" 20 hours ", "20 hours"),
        ("the battery LASTS 20 hours", "The  battery lasts\n20 hours"),
        ("20 hours - not 25", "20 hours – not 25"),
        ("it's 'big'", "It’s “big”"),
        ('It`s "big"; the case is red.', "It’s “big”; THE CASE is red."),
        ("The\tcase\nis", "THE CASE is"),
    ],
)
def test_a_quote_is_found_in_any_guise(quote: str, found: str) -> None:
    span = QuoteFinder(TEXT).find(quote)
    assert span is not None
    assert TEXT[span[0] : span[1]] == found


@each_case("quote", ["", " \n", "25 hours", "It is “big”", "thebattery", "TEXT"])
def test_a_quote_that_does_not_stand_there_is_not_found(quote: str) -> None:
    assert QuoteFinder(TEXT).find(quote) is None
    assert QuoteFinder("").find(quote) is None


def test_offsets_hold_after_letters_whose_small_form_is_longer() -> None:
    text = "İİ İstanbul ẞ  ΟΔΟΣ Σ"
    for quote in ("istanbul", "οδος σ", "i̇stanbul"):
        span = QuoteFinder(text).find(quote)
        if span:
            assert (
                text[span[0] : span[1]].split() == {"i": ["İstanbul"], "ο": ["ΟΔΟΣ", "Σ"]}[quote[0]]
            )
    assert QuoteFinder(text).find("istanbul") == (3, 11)
    assert QuoteFinder(text).find("οδος σ") == (15, 21)


RESPONSE = (
    "The X200 has a big battery. It lasts 20 hours on one charge. It costs $300. 它是红色的。"
)
SENTENCES = [(0, 27), (28, 60), (61, 75), (76, 82)]


@each_case(
    ("claim", "place"),
    [
        ("It lasts 20 hours on one charge.", (28, 60)),
        ("it lasts 20 hours", (28, 45)),
        ("The X200 battery lasts 20 hours on one charge.", (28, 60)),
        ("The X200 has a battery that is big.", (0, 27)),
        ("红色的是它", (76, 82)),
        ("The X200 is made of glass.", None),
        ("It is it.", None),
        ("", None),
        ("?!", None),
    ],
)
def test_a_claim_stands_where_most_of_its_words_do(
    claim: str, place: tuple[int, int] | None
) -> None:
    assert find_quote(claim, RESPONSE, SENTENCES) == place


def test_a_claim_that_two_sentences_make_stands_in_neither() -> None:
    response = "The red lamp is on. The lamp is red."
    assert find_quote("The lamp was red.", response, [(0, 19), (20, 36)]) is None


def test_a_claim_in_a_response_without_sentences_is_only_looked_up() -> None:
    assert find_quote("is big", "It is big", []) == (3, 9)
    assert find_quote("is large", "It is big", []) is None
