import pytest
from tests.cases import each_case

from ragstone._internal.fields import Span
from ragstone.metrics.citations import Cited, Source, cited_sentences, find_citations
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
        ("It is blue[1].", [(0,)]),
        ("It is blue.[2]", [(1,)]),
        ("It is an iPhone[2].", [(1,)]),
        ("In 2019[2] (or so)[3].", [(1,), (2,)]),
        ("It is blue [1, 2].", [(0,), (1,)]),
        ("It is blue [1;3].", [(0,), (2,)]),
        ("It is blue [1][2] [3].", [(0,), (1,), (2,)]),
        ("It is blue [1-3].", [(0,), (1,), (2,)]),
        ("It is blue [2–3, 1].", [(1,), (2,), (0,)]),
        ("It is blue [^1].", [(0,)]),
        ("它是蓝色的【1】。", [(0,)]),
        ("它是蓝色的[1]。", [(0,)]),
        ("它是蓝色的【1、３】。", [(0,), (2,)]),
        ("It is blue [see [2]].", [(1,)]),
    ],
)
def test_marks_are_found(response: str, contexts: list[tuple[int, ...]]) -> None:
    assert numbers(response) == contexts


def test_a_mark_has_its_place_and_its_names() -> None:
    assert found("Blue [1, 9].") == [("[1, 9]", [Source("1", (0,)), Source("9", ())])]


@pytest.mark.parametrize(
    ("response", "names"),
    [("Blue [4].", ["4"]), ("Blue [2-9].", ["2-9"]), ("Blue [3-1].", ["3-1"])],
)
def test_what_names_no_context_is_kept_as_such(response: str, names: list[str]) -> None:
    (mark,) = find_citations(response, THREE)
    assert mark.sources == tuple(Source(name, ()) for name in names)
    assert find_citations("Blue [1].", ())[0].sources == (Source("1", ()),)


@each_case(
    "response",
    [
        "See [the page](http://x.y) and [1](http://x.y) and ![1](x.png).",
        "[1]: http://x.y",
        "Write `a [1]` or ``b ` [1]``.",
        "```python\nrow [1]\n```",
        "```\nrow [1] and no end",
        "Set a[1] or x[1][2] to 5.",
        "Set my_list[1], $rows[2], userList[3].",
        "rows[1] = 5 and rows[2]+=1 and rows[3].name",
        "It is [sic] blue [doc-9].",
        "In [2019], between [0, 1], [0], [1.5], [-1], [], [ ], [1,].",
        "[ ] to do, [x] done",
        "[1\n]",
    ],
)
def test_what_is_no_citation(response: str) -> None:
    assert found(response) == []


def test_code_ends_where_it_ends() -> None:
    assert numbers("`a[1]` is so [2]. A lone ` here [1].\n\nAnd ` there [3].") == [(1,), (0,), (2,)]
    assert numbers("```\nx [1]\n```\nSo it is [2].") == [(1,)]


@pytest.mark.parametrize(
    ("response", "contexts"),
    [
        ("Blue [doc-7].", [(0, 2)]),
        ("Blue [guide, part 2].", [(1,)]),
        ("Blue [doc-7, 2].", [(0, 2), (1,)]),
        ("Blue [Doc-7].", []),
    ],
)
def test_an_id_names_every_context_that_has_it(
    response: str, contexts: list[tuple[int, ...]]
) -> None:
    assert numbers(response, NAMED) == contexts


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
    sentences = cited_sentences(
        response, (*THREE, Context(text="four", id="doc-7")), claims
    ).sentences
    return [(claims, [source.name for source in sources]) for claims, sources in sentences]


HOURS, BLUE = claim("It lasts 20 hours."), claim("It is blue.")


@each_case(
    ("response", "expected"),
    [
        ("It lasts 20 hours [1]. It is blue [2].", [((0,), ["1"]), ((1,), ["2"])]),
        ("It lasts 20 hours. [1] It is blue. [2]", [((0,), ["1"]), ((1,), ["2"])]),
        ("It lasts 20 hours.[1] It is blue.[2][3]", [((0,), ["1"]), ((1,), ["2", "3"])]),
        ("It lasts 20 hours. [doc-7] It is blue.", [((0,), ["doc-7"])]),
        ("It lasts 20 hours.\n[1]\n\nIt is blue.", [((0,), ["1"])]),
        ("[1] It lasts 20 hours. It is blue.", [((0,), ["1"])]),
        ("It lasts [1] 20 hours [1]. It is blue.", [((0,), ["1"])]),
        ("- It lasts 20 hours [1]\n- It is blue [2]\n", [((0,), ["1"]), ((1,), ["2"])]),
        (
            "It lasts 20 hours. It is blue [2].\n\n[1] The guide\n[2] The box\n",
            [((1,), ["2"]), ((), ["1", "2"])],
        ),
        ("It lasts 20 hours. It is blue.", []),
        ("[1]", []),
        ("", []),
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
    assert cited_sentences(response, THREE, ()).sentences[0] == Cited((), (Source("1", (0,)),))


@pytest.mark.parametrize(
    "piece",
    ["[", "[1", "[1]", "`", "` `` ", "[a", "【", "[1].\n", "It [1] is. ", "``` ", "a[1]", "`\n\n"],
)
def test_the_time_it_takes_grows_with_the_text_and_no_faster(piece: str, huge: int) -> None:
    cited_sentences(piece * (huge // len(piece)), THREE, [HOURS])
