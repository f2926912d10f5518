import re

import pytest
from tests.cases import each_case

from ragstone.datasets.columns import CONTEXT_ALIASES
from ragstone.datasets.values import contexts, ranking
from ragstone.types.sample import Context


@each_case(
    ("value", "expected"),
    [
        (["a", "b"], [Context(text="a"), Context(text="b")]),
        ("one text, with commas", [Context(text="one text, with commas")]),
        ("[1] Miller says so.", [Context(text="[1] Miller says so.")]),
        ('["a", "b"]', [Context(text="a"), Context(text="b")]),
        ("['a', \"it's\"]", [Context(text="a"), Context(text="it's")]),
        ('[{"text": "a", "id": 7, "score": 0.5}]', [Context(text="a", id="7", score=0.5)]),
        ([{"text": "a", "id": 7.0, "score": 1, "page": 3}], [Context(text="a", id="7", score=1)]),
        ([{"text": "", "id": "7"}], [Context(text="", id="7")]),
        ([{"id": None, "Page Content": "a"}], [Context(text="a")]),
        ([{"content": "theirs", "text": "ours"}], [Context(text="ours")]),
        ("[]", []),
        ("", []),
        ([], []),
    ],
)
def test_contexts_in_every_form(value: object, expected: list[Context]):
    assert contexts(value) == tuple(expected)


@pytest.mark.parametrize("name", CONTEXT_ALIASES["text"])
def test_others_names_for_the_text(name: str):
    assert contexts([{name: "a"}]) == (Context(text="a"),)


@pytest.mark.parametrize("name", CONTEXT_ALIASES["id"])
def test_others_names_for_the_id(name: str):
    assert ranking([{name: 5.0}]) == (Context(id="5"),)


@each_case(
    ("value", "expected"),
    [
        (["b", 2], [Context(id="b"), Context(id="2")]),
        ("b, 2.0", [Context(id="b"), Context(id="2")]),
        ("[2, 1]", [Context(id="2"), Context(id="1")]),
        (7, [Context(id="7")]),
        ('[{"point_id": 3, "score": 0.9}]', [Context(id="3", score=0.9)]),
        ([{"text": "only a text"}], [Context(text="only a text")]),
        ([], []),
        ("", []),
    ],
)
def test_rankings_in_every_form(value: object, expected: list[Context]):
    assert ranking(value) == tuple(expected)


@each_case(
    ("value", "said"),
    [
        (5, "this is 5, not a list of texts"),
        ({"text": "a"}, "this is an object, not a list of texts"),
        (["a", 5], "item 2 is 5, not a text or an object with text"),
        (["a", None], "item 2 is null, not a text or an object with text"),
        ("[1, 2]", "item 1 is 1, not a text or an object with text"),
        ([{"id": "a"}], "item 1 has no text; it has 'id'"),
        ([{}], "item 1 has no text; it has no names"),
        ([{"text": "a", "score": "high"}], "item 1: the score is 'high', not a number"),
        ([{"text": "a", "id": " "}], "item 1: a document id is blank"),
        ([{"text": ["a"]}], "item 1: this is a list, not a text"),
        ("['a' 'b']", "this starts like a list but cannot be parsed"),
        ('["a", "b]', "this starts like"),
        (
            "['The sky is blue.', 'The sea is gr",
            "cannot be parsed (its end is missing); write",
        ),
        ('[{"text": "a"}, {"te', "(its end is missing)"),
    ],
)
def test_what_is_no_context_is_told(value: object, said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        contexts(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([["a"]], "item 1 is a list, not an id or an object with an id"),
        ([None], "item 1 is null, not an id or an object with an id"),
        ([{"score": 1}], "item 1 has neither id nor text; it has 'score'"),
        ([True], "True is not a document id"),
    ],
)
def test_what_is_no_rank_is_told(value: object, said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        ranking(value)
