import pytest
from tests.cases import each_case

from ragstone.errors import CallError, Cause, JudgeError
from ragstone.types.claim import Label, Verdict
from ragstone.types.questions import Explain, ExtractClaims, ExtractTruths, Question, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict, Usage

EXTRACT = ExtractClaims(query="How long does it last?", response="It lasts 20 hours.")
VERIFY = VerifyClaims(claims=("It lasts 20 hours.", "It is blue."), contexts=("Up to 20 hours.",))


def test_the_key_is_the_one_that_stored_replies_have() -> None:
    """A change here makes every cached reply unknown: it has to be meant."""
    explain = Explain(claims=("c",), labels=(Label.SUPPORTED,), reasons=("",))
    questions = EXTRACT, VERIFY, ExtractTruths(context="c", limit=3), explain
    odd = ("", "\0", "ü\u2028", "\ud800", "\U0001f600")
    assert len({ExtractClaims(query="q", response=text).key for text in odd}) == len(odd)
    known = "08cdda252d315ebc 298f322c51b90efb de23295d909ab5b1 51b945389da5fefe"
    assert [question.key[:16] for question in questions] == known.split()


def test_a_wrong_count_of_verdicts_is_no_reply_but_holds_those_that_came() -> None:
    for count in (0, 1, 3):
        with pytest.raises(JudgeFailureError, match=f"got {count} verdicts? for 2 cl") as raised:
            VERIFY.reply([{"label": "SUPPORTED"}] * count, Usage(calls=3))
        failure = raised.value.failure
        assert (failure.cause, failure.usage) == (Cause.COUNT_MISMATCH, Usage(calls=3))
        came = PartialVerdict(None, "SUPPORTED", Verdict(label=Label.SUPPORTED))
        assert failure.returned == (came,) * count


@each_case(
    ("value", "told"),
    [
        (None, "must be a list, got None"),
        ([{"label": "yes"}] * 2, "0.label: .* got 'yes'"),
        ([{}, {}], "0.label: is missing"),
        ([{"label": "SUPPORTED", "score": 1}] * 2, "0.score: Extra inputs"),
    ],
)
def test_a_malformed_reply_says_in_one_line_what_was_wrong(value: object, told: str) -> None:
    with pytest.raises(JudgeError, match=told) as raised:
        VERIFY.reply(value)
    assert raised.value.cause is Cause.MALFORMED
    assert str(raised.value).startswith("verify_claims: ")
    assert "\n" not in str(raised.value)


def test_usage_adds_up_field_by_field() -> None:
    one, two = Usage(1, 2, 3, 4, 5), Usage(10, 20, 30, 40, 50)
    assert one + two == Usage(11, 22, 33, 44, 55)
    assert (Usage(cost_usd=0.5) + Usage(cost_usd=0.25)).cost_usd == 0.75
    assert (Usage(cost_usd=0.5) + Usage(cost_usd=None)).cost_usd is None


@each_case(
    ("question", "changes"),
    [
        (EXTRACT, {"by": "sentences", "query": "?", "response": "?"}),
        (VERIFY, {"partial": True, "batch_size": 1, "claims": ("a", "b"), "contexts": ()}),
        (ExtractTruths(context="c"), {"limit": 3, "context": "d"}),
        (
            Explain(claims=("c",), labels=(Label.SUPPORTED,), reasons=("",)),
            {"labels": (Label.CONTRADICTED,), "reasons": ("so",), "claims": ("d",)},
        ),
    ],
)
def test_every_field_makes_another_question_and_its_default_does_not(
    question: Question[object], changes: dict[str, object]
) -> None:
    varied = [question.varied(**{name: value}) for name, value in changes.items()]
    tagged = question.varied(tags=(("language", "German"),))
    assert len({each.key for each in (question, tagged, *varied)}) == len(changes) + 2
    assert {type(each) for each in varied} == {type(question)}
    fields = type(question).model_fields.items()
    defaults = {name: field.default for name, field in fields if not field.is_required()}
    assert question.varied(**defaults).key == question.key
    assert tagged.varied(tags=()).key == question.key


def test_a_failure_is_what_its_error_tells() -> None:
    whole = Failure(Cause.REFUSAL, "no", raw="I cannot", attempts=2, usage=Usage(calls=2))
    assert Failure.of(JudgeFailureError(whole)) == whole
    late = Failure.of(CallError(Cause.TIMEOUT, "too late", tries=3))
    assert late == Failure(Cause.TIMEOUT, "too late", usage=Usage(calls=3, retries=2))
    unmade = Failure.of(CallError(Cause.BUDGET, "spent", tries=0))
    assert unmade.usage == Usage()
