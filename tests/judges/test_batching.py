from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import Cause, QuestionNotSupportedError
from ragstone.judges.base import ScriptedJudge
from ragstone.judges.batching import MOST, SplitJudge, estimated_tokens
from ragstone.judges.cache import CachedJudge
from ragstone.types.claim import BATCH, Evidence, FoundAnswer, Grade, Label, Rating, Verdict
from ragstone.types.questions import (
    ExtractClaims,
    FindAnswer,
    GradeContexts,
    GradeSentences,
    RateResponse,
    VerifyClaims,
)
from ragstone.types.reply import Failure, JudgeFailureError, PartialVerdict, Reply, Usage

ROOM = 500
"""Tokens of contexts in a window of 1,000."""
FACT = "Fact {} is known about the battery of this telephone."
ONE = Usage(calls=1)


def claims(count: int) -> tuple[str, ...]:
    return tuple(f"Claim {number}." for number in range(1, count + 1))


def by_name(question: VerifyClaims) -> list[Verdict]:
    """Say of each claim its own name, so that any mix-up is seen."""
    return [Verdict(label=Label.SUPPORTED, reason=claim) for claim in question.claims]


def reader(question: VerifyClaims) -> list[Verdict]:
    """Support a claim that a context holds word for word, contradict one held after `not `."""
    return [read(claim, question.contexts) for claim in question.claims]


def read(claim: str, contexts: Sequence[str]) -> Verdict:
    for number, context in enumerate(contexts):
        if (at := context.find(claim)) >= 0:
            against = context[:at].endswith("not ")
            proof = Evidence(
                context=number, start=at, end=at + len(claim), quote=claim, verified=True
            )
            label = Label.CONTRADICTED if against else Label.SUPPORTED
            return Verdict(label=label, evidence=(proof,))
    unfound = Evidence(context=0, quote=claim, verified=False)
    return Verdict(label=Label.NOT_ENOUGH_INFO, evidence=(unfound,))


def scripted(answer: object = by_name, *, seconds: float = 0.0) -> ScriptedJudge:
    return ScriptedJudge({"verify_claims": answer}, seconds=seconds, identity="model")


def split(judge: ScriptedJudge, *, context_window: int = 100_000) -> SplitJudge:
    return SplitJudge(judge, context_window=context_window)


def asked(judge: ScriptedJudge) -> list[VerifyClaims]:
    return [question for question in judge.asked if isinstance(question, VerifyClaims)]


def sentences(count: int, first: int = 0) -> str:
    return " ".join(FACT.format(number) for number in range(first, first + count))


@each_case(
    ("count", "size", "parts"),
    [
        *((1, 20, [1]), (20, 20, [20]), (21, 20, [10, 11]), (61, 20, [15, 15, 15, 16])),
        *((5, 1, [1] * 5), (7, 5, [3, 4]), (7, 3, [2, 2, 3]), (0, 20, [])),
    ],
)
async def test_claims_are_put_in_even_batches(count: int, size: int, parts: list[int]) -> None:
    judge = scripted()
    question = VerifyClaims(claims=claims(count), contexts=("c",), batch_size=size)
    reply = await split(judge).answer(question)
    assert [verdict.reason for verdict in reply.value] == list(claims(count))
    assert [len(part.claims) for part in asked(judge)] == parts
    assert (reply.usage, reply.notes) == (Usage(calls=len(parts)), ())


async def test_a_part_is_the_same_question_whatever_the_batches_of_the_whole(tmp_path: Path):
    """Also with tags, which a part keeps."""
    judge = scripted()
    tags = (("language", "German"),)
    async with CachedJudge(judge, tmp_path / "replies.db") as cached:
        around = SplitJudge(cached, context_window=100_000)
        for size in (20, 30, 15, 40):
            whole = VerifyClaims(claims=claims(40), contexts=("c",), batch_size=size, tags=tags)
            await around.answer(whole)
        part = VerifyClaims(claims=claims(20), contexts=("c",), batch_size=99, tags=tags)
        assert (await around.answer(part)).usage == Usage(cached=1)
    assert [len(part.claims) for part in asked(judge)] == [20, 20, 13, 13, 14, 40]
    assert {part.batch_size for part in asked(judge)} == {BATCH}
    assert {part.tags for part in asked(judge)} == {tags}


async def test_contexts_that_do_not_fit_are_read_in_windows_and_nothing_is_asked_twice() -> None:
    judge = scripted(reader)
    contexts = (sentences(60), "Short one.", sentences(90, first=60))
    told = ("Fact 0 is", "Fact 59 is", "Short one", "Fact 149 is", "Fact 150 is")
    question = VerifyClaims(claims=told, contexts=contexts, batch_size=3)
    reply = await split(judge, context_window=2 * ROOM).answer(question)
    assert [verdict.label for verdict in reply.value] == ["SUPPORTED"] * 4 + ["NOT_ENOUGH_INFO"]
    (*places, nowhere) = [verdict.evidence[0] for verdict in reply.value]
    assert [place.context for place in places] == [0, 0, 1, 2]
    for place in places:
        assert contexts[place.context][place.start : place.end] == place.quote
    assert (nowhere.start, nowhere.end, nowhere.verified) == (None, None, False)
    windows = list(dict.fromkeys(part.contexts for part in asked(judge)))
    assert reply.notes == (f"the contexts were judged in {len(windows)} windows",)
    assert len({part.key for part in asked(judge)}) == len(judge.asked) == 2 * len(windows) > 6
    assert all(sum(map(estimated_tokens, window)) <= ROOM for window in windows)
    assert "".join("".join(window) for window in windows) == "".join(contexts)
    assert all(piece.startswith(("Fact", "Short")) for window in windows for piece in window)


@each_case(
    ("labels", "label"),
    [
        *(("NSC", "SUPPORTED"), ("NCN", "CONTRADICTED"), ("PCN", "CONTRADICTED")),
        *(("NNP", "PARTIALLY_SUPPORTED"), ("NNN", "NOT_ENOUGH_INFO")),
    ],
)
async def test_of_several_windows_verdicts_the_strongest_counts(labels: str, label: str) -> None:
    names = {name[0]: name for name in Label}
    contexts = tuple(sentences(35, first=40 * n) for n in range(3))
    said = dict(zip(contexts, labels, strict=True))
    judge = scripted(lambda question: [Verdict(label=names[said[question.contexts[0]]])])
    question = VerifyClaims(claims=("c",), contexts=contexts)
    reply = await split(judge, context_window=2 * ROOM).answer(question)
    assert [verdict.label for verdict in reply.value] == [label]
    assert len(judge.asked) == 3


async def test_an_answer_is_found_in_the_window_that_has_it() -> None:
    found = FoundAnswer(
        found=True, evidence=(Evidence(context=0, start=0, end=4, quote="here", verified=True),)
    )

    def answer(question: FindAnswer) -> FoundAnswer:
        return found if question.contexts[0].startswith("here") else FoundAnswer(found=False)

    scripted = ScriptedJudge({"find_answer": answer})
    judge = SplitJudge(scripted, context_window=100)
    contexts = ("a" * 180, "here" + "b" * 170)
    reply = await judge.answer(FindAnswer(query="q", contexts=contexts))
    assert reply.value.evidence[0].context == 1
    assert reply.notes == ("the answer was sought in 2 windows",)
    assert not (await judge.answer(FindAnswer(query="q", contexts=("a",)))).value.found
    assert len(scripted.asked) == 3


NO = Verdict(label=Label.CONTRADICTED)
FEWER = Failure(
    Cause.COUNT_MISMATCH, "one verdict fewer", (PartialVerdict(2, "CONTRADICTED", NO),), usage=ONE
)
UNREAD = Failure(
    Cause.MALFORMED,
    "a label",
    (PartialVerdict(1, "perhaps", None), PartialVerdict(2, "CONTRADICTED", NO)),
    usage=ONE,
)
GARBLED = Failure(Cause.MALFORMED, "nothing to be read", usage=ONE)
LATE = Failure(Cause.TIMEOUT, "too late", usage=ONE)


async def failure_of(failures: dict[str, Failure]) -> Failure:
    """Verify claims 1, 2 and 3, 4 and 5; the parts that begin with these claims fail."""
    judge = scripted(lambda q: failures.get(q.claims[0]) or q.reply(by_name(q), ONE))
    question = VerifyClaims(claims=claims(5), contexts=("c",), batch_size=2)
    with pytest.raises(JudgeFailureError) as raised:
        await split(judge).answer(question)
    return raised.value.failure


async def test_one_part_that_fails_fails_the_whole_with_all_that_came_back() -> None:
    failure = await failure_of({"Claim 2.": FEWER})
    assert (failure.cause, failure.message) == (Cause.COUNT_MISMATCH, "one verdict fewer")
    labels = ["SUPPORTED", "CONTRADICTED", "SUPPORTED", "SUPPORTED"]
    assert [item.number for item in failure.returned] == [1, 3, 4, 5]
    assert [item.written for item in failure.returned] == labels
    assert failure.usage == Usage(calls=3)
    fewer = replace(FEWER, returned=(PartialVerdict(None, "CONTRADICTED", NO),))
    failure = await failure_of({"Claim 2.": fewer})
    assert [item.number for item in failure.returned] == [1, None, 4, 5]


@each_case(
    ("first", "second"),
    [(FEWER, LATE), (UNREAD, LATE), (FEWER, GARBLED), (UNREAD, FEWER), (UNREAD, GARBLED)],
)
async def test_of_several_failures_the_one_with_the_least_to_go_by_is_told(first, second) -> None:
    for one, other in ((first, second), (second, first)):
        failure = await failure_of({"Claim 2.": one, "Claim 4.": other})
        assert (failure.cause, failure.message) == (second.cause, second.message)


async def test_one_window_that_fails_leaves_the_claims_on_which_all_gave_a_verdict() -> None:
    """A verdict of some windows only is none: another window may say otherwise."""
    context = f"{sentences(60)} Claim 1. Claim 2. Claim 4."

    def answer(question: VerifyClaims) -> object:
        if "Claim 4." in question.contexts[-1] and "Claim 3." in question.claims:
            said = read("Claim 4.", question.contexts)
            unnumbered = PartialVerdict(None, "SUPPORTED", said)
            return replace(FEWER, returned=(PartialVerdict(2, "SUPPORTED", said), unnumbered))
        return reader(question)

    question = VerifyClaims(claims=claims(4), contexts=(context,), batch_size=2)
    with pytest.raises(JudgeFailureError) as raised:
        await split(scripted(answer), context_window=2 * ROOM).answer(question)
    failure = raised.value.failure
    assert failure.cause is Cause.COUNT_MISMATCH
    came = [(1, "SUPPORTED"), (2, "SUPPORTED"), (4, "SUPPORTED")]
    assert [(item.number, item.written) for item in failure.returned] == came
    for item in failure.returned:
        assert item.verdict
        (place,) = item.verdict.evidence
        assert context[place.start : place.end] == place.quote


async def test_other_questions_go_through_and_others_kinds_do_not() -> None:
    around = split(ScriptedJudge({"extract_claims": [{"text": "c"}]}))
    question = ExtractClaims(query="q", response="r")
    assert [claim.text for claim in (await around.answer(question)).value] == ["c"]
    assert not around.takes("verify_claims")
    for size in (1, 2):
        verify = VerifyClaims(claims=claims(2), contexts=("c",), batch_size=size)
        with pytest.raises(QuestionNotSupportedError):
            await around.answer(verify)


def rating(**texts: object) -> RateResponse:
    given = {"query": "q", "response": "r", **texts}
    return RateResponse(criteria="c", levels=((1, "bad"), (5, "good")), **given)  # type: ignore[arg-type]


@each_case(
    "texts",
    [
        *({name: "x" * 2_400} for name in ("query", "response", "reference")),
        {"query": "x" * 1_200, "contexts": ("x" * 1_200,)},
    ],
)
async def test_texts_too_long_to_be_rated_together_are_not_rated(texts: dict[str, object]) -> None:
    judge = ScriptedJudge({"rate_response": Rating(level=5)})
    with pytest.raises(JudgeFailureError, match=r"about 60.* context window of 1,000") as raised:
        await split(judge, context_window=2 * ROOM).answer(rating(**texts))
    failure = raised.value.failure
    assert (failure.cause, failure.attempts, failure.usage) == (Cause.TRUNCATED, 0, Usage())
    assert judge.asked == []
    question = rating(response="x" * 900, contexts=("x" * 1_000,), reference="")
    assert (await split(judge, context_window=2 * ROOM).answer(question)).value.level == 5
    assert judge.asked == [question]


def texts_of(question: GradeContexts | GradeSentences) -> tuple[str, ...]:
    return question.contexts if isinstance(question, GradeContexts) else question.sentences


def by_word(question: GradeContexts | GradeSentences) -> list[Grade]:
    """Call relevant what has the word; the reason says how each text begins."""
    return [Grade(relevant="right" in text, reason=text[:9]) for text in texts_of(question)]


def grading() -> ScriptedJudge:
    return ScriptedJudge({"grade_contexts": by_word, "grade_sentences": by_word})


def contexts(*texts: str) -> GradeContexts:
    return GradeContexts(query="q", answer="a", contexts=texts, tags=(("language", "German"),))


async def graded(judge: ScriptedJudge, question: GradeContexts | GradeSentences) -> Reply:
    return await SplitJudge(judge, context_window=2 * ROOM).answer(question)


async def test_contexts_that_do_not_fit_together_are_graded_in_windows() -> None:
    judge = grading()
    texts = [f"{n} {'right' if n % 2 else 'wrong'} {sentences(20)}" for n in range(5)]
    reply = await graded(judge, contexts(*texts, *texts))
    assert [grade.relevant for grade in reply.value] == [False, True, False, True, False] * 2
    assert [grade.reason for grade in reply.value] == [text[:9] for text in texts] * 2
    assert reply.notes == ("the contexts were graded in 10 windows",)
    assert reply.usage == Usage(calls=5), "equal windows are asked once"
    assert len(judge.asked) == 5
    for asked in judge.asked:
        assert (asked.query, asked.answer, asked.tags) == ("q", "a", (("language", "German"),))
        assert sum(map(estimated_tokens, asked.contexts)) <= ROOM


async def test_a_long_context_is_graded_in_pieces_and_relevant_if_one_is() -> None:
    judge = grading()
    late = f"{sentences(60)} This is right. {sentences(30, 60)}"
    question = contexts("short", late, sentences(70), "right")
    reply = await graded(judge, question)
    assert [grade.relevant for grade in reply.value] == [False, True, False, True]
    pieces = [text for asked in judge.asked for text in asked.contexts]
    assert len(pieces) > 4
    assert reply.value[1].reason in [piece[:9] for piece in pieces if "right" in piece]
    with pytest.raises(JudgeFailureError, match="too late"):
        await graded(ScriptedJudge({"grade_contexts": LATE}), question)


async def test_sentences_are_graded_in_batches_that_fit() -> None:
    judge = grading()
    texts = tuple(f"{n} {'right' if n % 3 else 'wrong'}" for n in range(2 * MOST + 1))
    reply = await graded(judge, GradeSentences(query="q", sentences=texts))
    assert [grade.relevant for grade in reply.value] == [n % 3 > 0 for n in range(2 * MOST + 1)]
    assert all(len(asked.sentences) <= MOST for asked in judge.asked)
    assert all(sum(map(estimated_tokens, asked.sentences)) <= ROOM for asked in judge.asked)
    assert reply.notes == ()
    before = len(judge.asked)
    for nothing in (contexts(), GradeSentences(query="q", sentences=())):
        assert (await graded(judge, nothing)).value == ()
    assert len(judge.asked) == before


@each_case(
    ("text", "tokens"),
    [
        *(("", 0), ("a", 1), ("four", 1), ("fours", 2), ("The battery lasts 20 hours.", 7)),
        *(("Über größere Äpfel", 5), ("Ελληνικά", 2), ("Русский", 2), ("Việt Nam", 2)),
        *(("電池は長持ちします", 9), ("電池 lasts", 4), ("\U0001f600", 1), ("\ud800", 1)),
    ],
)
def test_four_characters_a_token_and_one_where_each_is_a_word(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens
