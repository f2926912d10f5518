import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.parsing.verdicts import parse_verdicts
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError

THREE = VerifyClaims(claims=("It lasts.", "It is red.", "It is big."), contexts=("It is blue.",))
ONE = VerifyClaims(claims=("It is red.",), contexts=("It is blue.",))
S, C = Label.SUPPORTED, Label.CONTRADICTED


def failure_of(text: str) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_verdicts(text, THREE)
    return caught.value.failure


@each_case(
    "text",
    [
        "Final verdict for each statement in order: Yes. No. Yes.",
        "1. stays.\nfinal verdict for each statement in order:\nyes. no. YES",
        "**Final verdict for each statement in order:** Yes. No. Yes.",
        "Final verdict for each statement in order:\n1. Yes\n2. No\n3. Yes",
        "1. Yes\n2. No\n3. Yes",
        "2: contradicted\n1: supported\n3: supported",
        "Here you are:\n(1) Yes. It does.\n(2) **No** - it is blue\n(3) Yes, as [1] says\nBye!",
        "[1] Yes\n[2] No\n[3] Yes",
        "Statement 1: Yes\nStatement 2: No\nStatement 3: Yes",
        "Verdict: Yes\nVerdict: No\nVerdict: Yes",
        "1. It lasts.\nReason: so.\nVerdict: Yes.\n\n2. Red.\nVerdict: No\n3. A\n**Verdict:** Yes",
        "Verdict: Yes. Verdict: No. Verdict: Yes.",
        "Verdict for statement 3: Yes\nVerdict for statement 1: Yes\nVerdict for statement 2: No",
    ],
)
def test_legacy_verdict_text_is_read(text: str) -> None:
    assert [verdict.label for verdict in parse_verdicts(text, THREE)] == [S, C, S]
    with pytest.raises(JudgeFailureError) as caught:
        parse_verdicts(text, THREE, strict_json=True)
    assert caught.value.cause is Cause.MALFORMED


def test_a_legacy_lines_reason_is_kept() -> None:
    (verdict,) = parse_verdicts("1. No - it is blue.", ONE)
    assert (verdict.label, verdict.reason) == (C, "it is blue")


@each_case(
    ("text", "cause"),
    [
        ("Final verdict for each statement in order: Yes. No.", Cause.COUNT_MISMATCH),
        ("Final verdict for each statement in order: Yes. No. Yes. No.", Cause.COUNT_MISMATCH),
        ("Final verdict for each statement in order: Yes. Maybe. No.", Cause.MALFORMED),
        ("Final verdict for each statement in order:", Cause.MALFORMED),
        ("Final verdict for each statement in order: 1. 0. 1.", Cause.MALFORMED),
        ("1. Yes\n2. No", Cause.COUNT_MISMATCH),
        ("1. Yes\n2. No\n2. No", Cause.COUNT_MISMATCH),
        ("1. Yes\n2. No changes were made\n3. No", Cause.MALFORMED),
        ("1. Yes, but not all of it\n2. No\n3. No", Cause.MALFORMED),
        ("1. Yes\n2. Yes or no\n3. No", Cause.MALFORMED),
        ("Verdict: Yes\nVerdict: No", Cause.COUNT_MISMATCH),
        ("Verdict: Yes, the verdict: No. Verdict: perhaps", Cause.MALFORMED),
        ("Statement 3: a. Verdict: Yes. Statement 1: b. Verdict: No.", Cause.COUNT_MISMATCH),
        ("The case is red: no.", Cause.MALFORMED),
        ("Yes. No. Yes.", Cause.MALFORMED),
    ],
)
def test_legacy_text_that_does_not_fit_is_a_failure(text: str, cause: Cause) -> None:
    assert failure_of(text).cause is cause


def test_a_legacy_label_that_is_unreadable_is_returned_as_written() -> None:
    failure = failure_of("Final verdict for each statement in order: Yes. Maybe. No.")
    assert [returned.written for returned in failure.returned] == ["Yes", "Maybe", "No"]
    assert failure.message == "'Maybe' is not a label"
