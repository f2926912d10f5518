from typing import Any

from tests.cases import each_case

from ragstone._internal.fields import Span
from ragstone.metrics.citations import (
    CitationPrecision,
    CitationRecall,
    Cited,
    Source,
    cited_sentences,
    find_citations,
)
from ragstone.metrics.claim_checks import CheckMetric
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.sample import Context

THREE = tuple(Context(text=text) for text in ("one", "two", "three"))
NAMED = tuple(Context(text="t", id=name) for name in ("doc-7", "guide, part 2", "doc-7"))
NUMBERED = tuple(Context(text="t", id=name) for name in ("5", "1", "12"))


def found(response: str, contexts: tuple[Context, ...] = THREE) -> list[tuple[str, list[Source]]]:
    marks = find_citations(response, contexts)
    return [(response[start:end], list(sources)) for start, end, sources in marks]


def numbers(response: str, contexts: tuple[Context, ...] = THREE) -> list[tuple[int, ...]]:
    return [source.contexts for _, sources in found(response, contexts) for source in sources]


@each_case(
    ("response", "contexts"),
    [
        ("It is blue [1].", [(0,)]),
        ("It is an iPhone[2].", [(1,)]),
        ("In 2019[2] (or so).[3]", [(1,), (2,)]),
        ("It is blue [1;3].", [(0,), (2,)]),
        ("It is blue [1][2] [3].", [(0,), (1,), (2,)]),
        ("It is blue [2–3, 1].", [(1,), (2,), (0,)]),
        ("It is blue [^1].", [(0,)]),
        ("它是蓝色的【1、３】。是蓝色的[1]。是蓝色的［2］。", [(0,), (2,), (0,), (1,)]),
        ("It is blue [see [2]].", [(1,)]),
        ("It is blue【1†source】.", [(0,)]),
        ("It is blue.² Or red^3.", [(1,), (2,)]),
        ("It is blue⁹.", [()]),
        ("`a[1]` is [2]. A lone ` here [1].\n\nAnd ` there [3].", [(1,), (0,), (2,)]),
        ("```\nx [1]\n```\nSo it is [2].", [(1,)]),
        ("Mix (5) parts. It is blue (Passage 9).", [()]),
        ("It is blue<sup>3</sup>.", [(2,)]),
        ("It is blue (Passage 2) and red (2).", [(1,), (1,)]),
        ("It is blue [Source 1, p. 7].", [(0,)]),
        ("It is blue [1, d9].", [(0,), ()]),
        ("It is blue [2-9] [3-1].", [(), ()]),
    ],
)
def test_marks_are_found(response: str, contexts: list[tuple[int, ...]]) -> None:
    assert numbers(response) == contexts


@each_case(
    ("response", "contexts"),
    [
        ("Blue [guide, part 2]. Blue [Doc-7].", [(1,), ()]),
        ("Blue [doc-7, 2]. Blue [doc-7, doc-9].", [(0, 2), (1,), (0, 2), ()]),
        ("蓝色（doc-7）。", [(0, 2)]),
        ("Blue 【2†doc-7】.", [(1,)]),
        ("Blue [here](doc-7) and [here](doc-9).", [(0, 2), ()]),
        ("Blue [here](http://x.y) [sic] [link] [note].", []),
    ],
)
def test_an_id_names_every_context_that_has_it(
    response: str, contexts: list[tuple[int, ...]]
) -> None:
    assert numbers(response, NAMED) == contexts


def test_a_mark_has_its_place_and_its_names() -> None:
    assert found("Blue [1, 9].") == [("[1, 9]", [Source("1", (0,)), Source("9", ())])]
    assert found("Blue [1].", ()) == [("[1]", [Source("1", ())])]


@each_case(
    "response",
    [
        "See [the page](http://x.y) and [1](http://x.y) and ![1](x.png).",
        "It is 10 m² (1) long, or mc^2 (see below), [link] [citation needed].",
        "It is blue (7). It has one part (p. 3). Mix (2) parts.",
        "[1]: http://x.y",
        "Write `a [1]` or ``b ` [1]``.",
        "```\nrow [1] and no end",
        "Set a[1] or x[1][2] to 5. Set my_list[1], $rows[2], userList[3].",
        "rows[1] = 5 and rows[2]+=1 and rows[3].name",
        "In [2019], between [0, 1], [0], [1.5], [-1], [], [ ], [1,]; [ ] to do, [x] done; [1\n]",
    ],
)
def test_what_is_no_citation(response: str) -> None:
    assert found(response) == []


def test_a_link_to_the_address_of_a_source_is_a_citation() -> None:
    pages = (Context(text="t", id="https://x.y/a"), Context(text="t", id="https://x.y/b"))
    response = "Blue [the page](https://x.y/b). Red [1](https://x.y/c). See (https://x.y/a)."
    assert numbers(response, pages) == [(1,), (), (0,)]


def test_a_number_is_a_place_unless_it_can_only_be_an_id() -> None:
    assert numbers("Blue [1], red [2].", NUMBERED) == [(0,), (1,)]
    assert numbers("Blue [1], red [12].", NUMBERED) == [(1,), (2,)]
    assert numbers("Blue [2], red [12], no [9].", NUMBERED) == [(1,), (2,), ()]
    assert numbers("Blue [2019].", (Context(text="t", id="2019"),)) == [(0,)]


def claim(text: str, span: Span | None = None) -> JudgedClaim:
    return JudgedClaim(
        text=text, span=span, label=Label.SUPPORTED, reason=None, confidence=None, evidence=()
    )


def cited(response: str, *claims: JudgedClaim) -> list[tuple[tuple[int, ...], list[str]]]:
    sentences, _ = cited_sentences(response, (*THREE, Context(text="four", id="doc-7")), claims)
    return [(claims, [source.name for source in sources]) for claims, sources in sentences]


HOURS, BLUE = claim("It lasts 20 hours."), claim("It is blue.")


@each_case(
    ("response", "expected"),
    [
        ("It lasts 20 hours [1]. It is blue [2].", [((0,), ["1"]), ((1,), ["2"])]),
        ("It lasts 20 hours.[1] It is blue. [2][3]", [((0,), ["1"]), ((1,), ["2", "3"])]),
        ("It lasts 20 hours.\n[doc-7]\n\nIt is blue.", [((0,), ["doc-7"])]),
        ("[1] It lasts [1] 20 hours [1]. It is blue.", [((0,), ["1"])]),
        ("- It lasts 20 hours [1]\n- It is blue [2]\n", [((0,), ["1"]), ((1,), ["2"])]),
        ("It is blue [2].\n\n[1] The guide\n[2] The box\n", [((1,), ["2"]), ((), ["1", "2"])]),
        ("It lasts 20 hours. It is blue.", []),
        ("[1]", []),
    ],
)
def test_a_mark_belongs_to_the_sentence_it_follows(
    response: str, expected: list[tuple[tuple[int, ...], list[str]]]
) -> None:
    assert cited(response, HOURS, BLUE) == expected


def test_a_claim_is_where_its_span_is_and_else_where_it_is_clearly_said() -> None:
    response = "It lasts 20 hours and is blue [1]. It costs 9 EUR [2]."
    spanned = claim("The price is low.", (35, 53))
    unclear = claim("Something else entirely.")
    both = claim("All of it.", (0, len(response)))
    assert cited(response, spanned, unclear, claim("It lasts 20 hours."), both) == [
        ((2, 3), ["1"]),
        ((0, 3), ["2"]),
    ]
    assert cited_sentences(response, THREE, ())[0][0] == Cited((), (Source("1", (0,)),))


PIECES = ["[", "[1", "[1]", "`", "` `` ", "[a", "【", "[1].\n", "It [1] is. ", "``` ", "`\n\n"]


@each_case("piece", PIECES)
def test_the_time_it_takes_grows_with_the_text_and_no_faster(piece: str, huge: int) -> None:
    cited_sentences(piece * (huge // len(piece)), THREE, [HOURS])


RESPONSE = (
    "So said 1 [1, 3]. So said 2 and said 3 [1][2]. So said 4 [7]. See also these.\n\n[1] A list."
)


async def test_the_worked_example(checks: Any) -> None:
    """Right: 1 at the first, 1 and 2 at the second. Wrong: 3 at the first, and 7, which is none.

    3/5; the list of sources makes no claim and counts not.
    """
    made = checks(in_contexts="S1 S1 S2 S1")
    score = await made.score(CitationPrecision(), response=RESPONSE)
    assert (score.value, score.detail) == (0.6, {"citations": 5, "right": 3})
    assert made.kinds == ["extract_claims", "verify_claims"]
    quoteless = checks(in_contexts="C1 N S0 P2")
    assert (await quoteless.score(CitationPrecision(), response=RESPONSE)).value == 0.0


async def test_a_source_counts_once_in_a_sentence_and_may_be_several_contexts(checks: Any) -> None:
    made = checks(in_contexts="S1")
    score = await made.score(CitationPrecision(), response="As [1] has it, said 1 [1][2].")
    assert (score.value, score.detail["citations"]) == (0.5, 2)
    contexts = [{"text": "one", "id": "x"}, *({"text": t, "id": "guide"} for t in ("two", "three"))]
    made = checks(in_contexts="S3")
    score = await made.score(CitationPrecision(), response="said 1 [guide].", contexts=contexts)
    assert (score.value, score.detail["citations"]) == (1.0, 1)


@each_case(
    ("metric", "response", "reason"),
    [
        (CitationPrecision(), "said 1.", "no claim of the response cites anything"),
        (
            CitationPrecision(),
            "said 1.\n\n[2] The list.",
            "no claim of the response cites anything",
        ),
        (CitationPrecision(), "Sure!", "the response makes no claims"),
        (CitationRecall(), "Sure! [1]", "the response makes no claims"),
    ],
)
async def test_without_citations_it_is_undefined(
    checks: Any, metric: CheckMetric, response: str, reason: str
) -> None:
    made = checks(in_contexts="" if "Sure" in response else "S1")
    score = await made.score(metric, response=response)
    assert (score.state, score.reason) == ("undefined", reason)


# "said 1" ... are the claims, and the sentences that they stand in.
CITING = "So said 1 [1]. So said 2 [1][2]. So said 3. So said 4 [3] and said 5."


async def test_the_worked_example_of_citation_recall(checks: Any) -> None:
    """1 and 2 cite what they rest on, 3 nothing, 4 another context, 5 its sentence's: 3/5."""
    made = checks(in_contexts="S1 S2 S1 S1 S3")
    score = await made.score(CitationRecall(), response=CITING)
    assert (score.value, score.detail) == (0.6, {"claims": 5, "cited": 3})
    assert len(score.claims) == 5
    assert made.kinds == ["extract_claims", "verify_claims"]
    uncited = checks(in_contexts="C1 S0 S N P3")
    assert (await uncited.score(CitationRecall(), response=CITING)).value == 0.0


async def test_what_is_not_known_is_left_out_and_told(checks: Any) -> None:
    score = await checks(in_contexts="S1 S S2 S1 S3").score(CitationRecall(), response=CITING)
    assert (score.value, score.detail["supported_without_quote"]) == (2 / 4, 1)
    quoteless = await checks(in_contexts="S S").score(CitationRecall(), response=CITING)
    assert quoteless.state == "undefined"
    assert "supported without quote: 2" in (quoteless.reason or "")
    unplaced = await checks(in_contexts="S1").score(CitationRecall(), response="Other words [1].")
    assert (unplaced.state, "unplaced: 1" in (unplaced.reason or "")) == ("undefined", True)


async def test_without_citations_or_contexts_nothing_is_cited(checks: Any) -> None:
    made = checks(in_contexts="S1 S2")
    assert (await made.score(CitationRecall(), response="said 1. said 2.")).value == 0.0
    assert (await made.score(CitationRecall(), response="said 1 [1].", contexts=())).value == 0.0
