import contextlib
import dataclasses
import json

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.judges.llm.raw_reply import raw

from ragstone._internal.sentences import QuoteFinder, find_quote, split_sentences
from ragstone.errors import Cause
from ragstone.judges.llm.replies import (
    PLACEHOLDER,
    RawReply,
    parse_claims,
    parse_explanation,
    parse_verdicts,
)
from ragstone.types.claim import Label, Verdict
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError

CONTEXTS = ("The battery lasts 20 hours.", "Its “case” is blue – not red.")
PIECES = st.sampled_from(
    [
        "{", "}", "[", "]", '"', ",", ":", "\\", "\n", " ", "```", "```json\n", "<think>",
        "</think>",
        '{"verdicts":', '"label"', '"claim"', '"verdict"', '"evidence"', "1", "0", "-2", "1e999",
        "NaN", "null", "true", '"SUPPORTED"', '"no"', "\\ud800", "\ud800", "Verdict: Yes", "1. Yes",
        "Final verdict for each statement in order:", "Yes.", "No.", "I cannot", "- a claim", "²",
    ]
)  # fmt: skip
jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["verdicts", "statements", "claim", "label", "verdict", "evidence", "quote",
                         "context", "id", "reason", "explanation", "claims"]),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip
texts = st.one_of(
    st.text(),
    st.text(st.characters()),
    st.binary().map(lambda data: data.decode(errors="replace")),
    st.lists(PIECES, max_size=25).map("".join),
    jsons.map(json.dumps),
)
questions = st.integers(0, 4).map(
    lambda n: VerifyClaims(claims=tuple(f"Claim {i}." for i in range(n)), contexts=CONTEXTS)
)


def valid(labels: list[Label]) -> str:
    return json.dumps(
        {
            "verdicts": [
                {"claim": n, "reason": "r", "evidence": [{"context": 1, "quote": "20 hours"}],
                 "label": label}
                for n, label in enumerate(labels, 1)
            ]
        }
    )  # fmt: skip


def outcome(
    text: str, question: VerifyClaims, *, legacy_text: bool = False
) -> tuple[Verdict, ...] | Failure:
    try:
        return parse_verdicts(raw(text, question, legacy_text=legacy_text), question)
    except JudgeFailureError as error:
        return error.failure


def check(text: str, question: VerifyClaims, *, legacy_text: bool) -> None:
    read = outcome(text, question, legacy_text=legacy_text)
    if isinstance(read, Failure):
        assert read.message
        json.dumps(dataclasses.asdict(read), default=str, ensure_ascii=False).encode()
        assert not read.returned or read.cause in (Cause.MALFORMED, Cause.COUNT_MISMATCH)
    else:
        assert len(read) == len(question.claims)
        json.dumps([verdict.model_dump() for verdict in read], ensure_ascii=False).encode()


@given(texts, questions, st.booleans())
def test_any_text_is_one_verdict_a_claim_or_a_failure(
    text: str, question: VerifyClaims, legacy_text: bool
) -> None:
    check(text, question, legacy_text=legacy_text)


@given(st.lists(st.sampled_from(Label), max_size=4), st.data())
def test_a_reply_that_was_tampered_with_is_one_verdict_a_claim_or_a_failure(
    labels: list[Label], data: st.DataObject
) -> None:
    question = VerifyClaims(claims=tuple(map(str, labels)), contexts=CONTEXTS, partial=True)
    text = valid(labels)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(PIECES | st.text(max_size=3)) + text[end:]
    check(text, question, legacy_text=False)


@given(st.lists(st.sampled_from(Label), min_size=1, max_size=6), st.randoms(), st.data())
def test_no_order_and_no_cut_makes_another_verdict(
    labels: list[Label], random: object, data: st.DataObject
) -> None:
    claims = tuple(f"Claim {i}." for i in range(len(labels)))
    question = VerifyClaims(claims=claims, contexts=CONTEXTS, partial=True)
    whole = json.loads(valid(labels))
    random.shuffle(whole["verdicts"])
    text = json.dumps(whole)
    assert [verdict.label for verdict in parse_verdicts(raw(text, question), question)] == labels
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    read = outcome(cut, question)
    assert isinstance(read, Failure)
    assert (read.cause, read.returned) == (Cause.MALFORMED, ())


@given(texts, st.booleans())
def test_any_text_is_claims_or_a_failure(text: str, legacy_text: bool) -> None:
    with contextlib.suppress(JudgeFailureError):
        claims = parse_claims(RawReply(text, legacy_text=legacy_text), "")
        assert len(set(claims)) == len(claims)
        assert all(claim == " ".join(claim.split()) != "" for claim in claims)
        json.dumps(claims, ensure_ascii=False).encode()


@given(texts, st.booleans())
def test_any_text_is_an_explanation_or_a_failure(text: str, legacy_text: bool) -> None:
    with contextlib.suppress(JudgeFailureError):
        assert parse_explanation(RawReply(text, legacy_text=legacy_text)).strip()


@given(st.lists(st.text(min_size=1, max_size=12)), st.data())
def test_claims_that_were_written_are_read(claims: list[str], data: st.DataObject) -> None:
    lines = [" ".join(claim.split()) for claim in claims]
    assume(not any(map(PLACEHOLDER.fullmatch, lines)))
    text = json.dumps({"claims": claims}, ensure_ascii=data.draw(st.booleans()))
    assert list(parse_claims(RawReply(text), "")) == list(
        dict.fromkeys(line for line in lines if line)
    )


@given(st.text(), st.data())
def test_a_quote_in_another_guise_is_found_where_it_stands(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    piece = text[start:end]
    guise = data.draw(st.sampled_from([str, str.lower, lambda s: "  ".join(s.split())]))
    span = QuoteFinder(text).find(guise(piece))
    if not piece.strip():
        assert span is None
    elif guise is str:
        assert span is not None
        assert text[span[0] : span[1]] == piece.strip()
    if span is not None:
        assert 0 <= span[0] < span[1] <= len(text)
        found = text[span[0] : span[1]]
        assert "".join(found.split()) != ""
        assert QuoteFinder(guise(piece)).find(found) is not None


@given(st.text(max_size=20), st.text(max_size=80))
def test_a_place_lies_in_the_response(claim: str, response: str) -> None:
    sentences = [(sentence.start, sentence.end) for sentence in split_sentences(response)]
    place = find_quote(claim, response, sentences)
    assert place is None or 0 <= place[0] < place[1] <= len(response)
