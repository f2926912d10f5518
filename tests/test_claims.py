import pytest
from pydantic import ValidationError

from ragstone.claims import Claim, Evidence, JudgedClaim, Label, Verdict

EVIDENCE = Evidence(context=0, start=3, end=11, quote="20 hours", verified=True)


def test_the_labels_are_the_four_of_the_design() -> None:
    names = ["SUPPORTED", "PARTIALLY_SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO"]
    assert [str(label) for label in Label] == names


def test_a_judged_claim_has_everything_of_claim_and_verdict() -> None:
    claim = Claim(text="It lasts 20 hours.", span=(0, 18))
    verdict = Verdict(label="SUPPORTED", reason="said so", evidence=(EVIDENCE,), confidence=0.9)
    judged = JudgedClaim.of(claim, verdict)
    assert judged.model_dump() == claim.model_dump() | verdict.model_dump()


def test_what_is_not_said_is_none() -> None:
    judged = JudgedClaim.of(Claim(text="x"), Verdict(label=Label.CONTRADICTED))
    assert (judged.span, judged.reason, judged.confidence, judged.evidence) == (None,) * 3 + ((),)


@pytest.mark.parametrize("label", ["supported", "yes", "", None, 1])
def test_a_label_is_written_as_it_is(label: object) -> None:
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
