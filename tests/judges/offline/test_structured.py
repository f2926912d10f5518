"""Structured contexts: what becomes a sentence, and where its evidence is in the original."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.offline import OfflineJudge
from ragstone.judges.offline.structured import render_structured
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims

CAFE = json.dumps(
    {
        "name": "Cafe Blue",
        "hours": {"Monday": "9:0-17:30", "Sunday": None},
        "attributes": {"RestaurantsTakeOut": True, "parking_lot": False},
        "tags": ["coffee", "cake"],
        "staff": [{"name": "Ann", "role": "chef"}],
    },
    indent=1,
)
MARKDOWN = """Prices of this year.

| Plan | Price |
|:--|--:|
| Basic | 9 euros |
| Pro | 19 euros |

All prices include tax."""
HTML = (
    "<p>Prices</p><table class=x><tr><th>Plan</th><th>Price</th></tr>"
    "<tr><td>Basic</td><td><b>9</b> &euro;</td></tr></table> All prices include tax."
)
CSV = 'name,age,city\nAnn,30,Bonn\nBob,41,"Ulm, South"'
LIST = "Opening hours:\nMonday: 9:00-17:00\n- Tuesday: closed\nCall before you come."


def sentences(text: str) -> list[tuple[str, str]]:
    """Each sentence of the prose, and the original text of its evidence."""
    prose = render_structured(text)
    assert prose is not None
    found = []
    for start, segment in zip(prose.starts, prose.segments, strict=True):
        begin, end = prose.original(start, start + len(segment.prose))
        found.append((segment.prose, text[begin:end]))
    return found


def test_each_value_of_json_is_a_sentence_about_its_object() -> None:
    assert sentences(CAFE) == [
        ("name: Cafe Blue.", '"name": "Cafe Blue"'),
        ("Cafe Blue hours Monday: 9:00 to 17:30.", '"Monday": "9:0-17:30"'),
        ("Cafe Blue attributes Restaurants Take Out: yes.", '"RestaurantsTakeOut": true'),
        ("Cafe Blue attributes parking lot: no.", '"parking_lot": false'),
        ("Cafe Blue tags: coffee, cake.", '"coffee",\n  "cake"'),
        ("staff name: Ann.", '"name": "Ann"'),
        ("Ann staff role: chef.", '"role": "chef"'),
    ]


@pytest.mark.parametrize("text", [MARKDOWN, HTML])
def test_each_row_of_a_table_is_a_sentence(text: str) -> None:
    found = dict(sentences(text))
    row = next(prose for prose in found if prose.startswith("Plan: Basic; Price: 9"))
    assert "Basic" in found[row]
    assert "Pro" not in found[row]
    assert found["All prices include tax."] == "All prices include tax."


def test_csv_and_lists_of_pairs_are_sentences() -> None:
    assert sentences(CSV)[1:] == [
        ("name: Ann; age: 30; city: Bonn.", "Ann,30,Bonn"),
        ("name: Bob; age: 41; city: Ulm, South.", 'Bob,41,"Ulm, South"'),
    ]
    assert sentences(LIST) == [
        ("Opening hours:", "Opening hours:"),
        ("Monday: 9:00 to 17:00.", "Monday: 9:00-17:00"),
        ("Tuesday: closed", "Tuesday: closed"),
        ("Call before you come.", "Call before you come."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain prose. Nothing else.",
        '{"a": [1, 2',
        "{}",
        "[]",
        "He said: come here.",
        "First, we went home.\nThen, we ate.\nLater, we slept.",
        "a | b, as in logic",
    ],
)
def test_prose_stays_as_it_is(text: str) -> None:
    assert render_structured(text) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(VALUES.filter(lambda value: isinstance(value, dict | list)))
def test_any_json_has_evidence_in_order_inside_the_text(value: object) -> None:
    text = json.dumps(value)
    prose = render_structured(text)
    if prose is not None:
        spans = [(segment.start, segment.end) for segment in prose.segments]
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert all(one[1] <= other[0] for one, other in pairwise(spans))


@given(st.text(alphabet='a|:,;-<>trd/\n .\t"{}[]1', max_size=200), st.data())
def test_any_span_of_any_text_leads_back_into_it(text: str, data: st.DataObject) -> None:
    prose = render_structured(text)
    if prose is not None:
        start = data.draw(st.integers(0, len(prose.text)))
        end = data.draw(st.integers(start, len(prose.text)))
        begin, stop = prose.original(start, end)
        assert 0 <= begin <= stop <= len(text)


@pytest.mark.parametrize(
    ("claim", "context", "label"),
    [
        ("Cafe Blue is open on Monday from 9:00 to 17:30.", CAFE, Label.SUPPORTED),
        ("The Basic plan has a price of 9 euros.", MARKDOWN, Label.SUPPORTED),
        ("The shop is closed on Tuesday.", LIST, Label.SUPPORTED),
    ],
)
async def test_the_offline_judge_reads_structured_contexts(claim, context, label) -> None:
    reply = await OfflineJudge().answer(VerifyClaims(claims=(claim,), contexts=("Other.", context)))
    (verdict,) = reply.value
    assert verdict.label is label
    evidence = verdict.evidence[0]
    assert evidence.context == 1
    assert context[evidence.start : evidence.end] == evidence.quote
