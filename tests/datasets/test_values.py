from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import numpy as np
from tests.cases import each_case
from tests.datasets.reading import each_of, expect

from ragstone.datasets.table import Unreadable
from ragstone.datasets.values import (
    claims,
    contexts,
    normalize_cell,
    query,
    ranking,
    relevance,
    sample_id,
    split_joined,
    tags,
    text,
)
from ragstone.types.sample import Context


@each_case(
    ("value", "expected"),
    [
        (None, None),
        (datetime(2024, 5, 1, 12, 3, tzinfo=UTC), "2024-05-01T12:03:00+00:00"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Decimal("0.1"), 0.1),
        (("a", 1), ["a", 1]),
        ([Context(text="a")], [{"text": "a", "id": None, "score": None}]),
        ("grüße 🙂", "grüße 🙂"),
    ],
)
def test_plain_values(value: object, expected: object):
    assert normalize_cell(value) == expected


@each_case(
    ("value", "message"),
    [
        (float("nan"), "nan is not a finite number"),
        ("a\0b", "the text contains a NUL character"),
        ("\ud800", "the text contains half of a surrogate pair ('\\ud800')"),
        ({True: 1}, "the name True is not text; put it in quotes"),
        (Unreadable("the error #REF!"), "the error #REF!"),
        (Decimal("1e999999"), "inf is not a finite number"),
        (2**2000, "a number of 2001 bits is too large"),
        (b"a", "values of type bytes are not supported"),
    ],
)
def test_what_no_store_could_hold_is_reported(value: object, message: str):
    expect(normalize_cell, value, message)


def test_texts_and_ids():
    deep: object = "a"
    for _ in range(100_000):
        deep = [deep]
    expect(normalize_cell, deep, "lists or objects are nested more than 50 deep")
    given = [text(value) for value in ("a ", 5, 5.0, 0.5, True)]
    assert given == ["a ", "5", "5", "0.5", "true"]
    expect(text, ["a"], "this is a list, not text")
    assert [sample_id(value) for value in (" a1 ", 5.0)] == ["a1", "5"]
    expect(sample_id, " ", "the id is blank")


def test_a_query_may_look_like_a_list_but_is_no_conversation_and_not_blank():
    for value in ("[1] What is that?", "[]", '["a"]', " a"):
        assert query(value) == value
    expect(query, " \n", "the query is blank")
    asked = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    for chat in (asked, "[{'content': 'a', 'type': 'human'}]"):
        expect(query, chat, "this is a conversation; write one row per turn, or move")


@each_case(
    ("value", "expected"),
    each_of(
        (("a", "b"), [["a", " b "], '["a", "b"]', "['a', 'b']"]),
        (("a, still a", "b"), ["a, still a\n\n b\r\n"]),
        ((), ["", "[]", []]),
        ("this is 5; write a list of texts, or one per line", [5]),
        ("item 2 is 5, not text", [["a", 5]]),
    ),
)
def test_claims(value: object, expected: object):
    expect(claims, value, expected)


@each_case(
    ("value", "expected"),
    [
        ({"a": 1, "b": ["x"], "c": None}, {"a": 1, "b": '["x"]'}),
        ('{"a": 1}', {"a": 1}),
        ("{}", {}),
        (["ü", {"a": None}], {"Tags": '["ü",{"a":null}]'}),
        ({"a": 0.5, "b": True}, {"a": 0.5, "b": True}),
    ],
)
def test_an_object_of_tags_is_taken_apart(value: object, expected: dict[str, object]):
    assert tags(value, "Tags") == expected


UUID1 = "0d6f3c5e-3f0a-4c43-9f6e-2a3f6f0f7d11"
UUID2 = UUID1[::-1]


@each_case(
    ("value", "expected"),
    each_of(
        (["5"], [5, 5.0, "5", "5.0", '"5"', '"5.0"', '["5.0"]']),
        (["1", "2"], ["1, 2", "1,2,", "1.0, 2.0", "[1, 2]", "[1.0, 2.0]", "1 ,\t2", "1|, 2"]),
        (["1", "2"], ["1, 2,,", " ,1,\n2", "1;\r\n2;\r\n"]),
        (["a", "b"], ["'a', 'b'", "a;b", "a|b", "a\tb", "a\r\nb"]),
        (["doc-a", "b"], ['["doc-a", "b"]', "['doc-a', 'b']", "('doc-a', 'b')", "{doc-a,b}"]),
        (["1", "2", "3", "文書１"], ["１，２、３；文書１"]),
        (["my file.pdf", "other.pdf"], ["my file.pdf, other.pdf"]),
        ([UUID1], [UUID1]),
        ([UUID1, UUID2], [f" {UUID1} , {UUID2} "]),
        (["b", "2", "1"], [["b", 2, 1.0]]),
        (["12345678901234567"], [12345678901234567]),
        (["NA"], ['["NA"]', "'NA'", ["NA"]]),
        ([], ["[]", "", []]),
    ),
)
def test_ids_in_every_form(value: object, expected: list[str]):
    assert ranking(value) == tuple(Context(id=name) for name in expected)
    assert relevance(value) == dict.fromkeys(expected, 1.0)


UNCLEAR = ["[a, b]", "('a' 'b')", "{a,NULL}", "{a:1}", "(1"]


@each_case(
    ("value", "expected"),
    [
        ({"doc-a": 2}, {"doc-a": 2.0}),
        ('{"doc-a": 2, "doc-b": 0}', {"doc-a": 2.0, "doc-b": 0.0}),
        ({5: 1, "7": -1}, {"5": 1.0, "7": -1.0}),
        ({"a": True, "b": False}, {"a": 1.0, "b": 0.0}),
        ("{}", {}),
        (["a", "a"], {"a": 1.0}),
        ({"a": "high"}, "the grade of 'a' is 'high', not a number"),
        ('{"a": 1e999}', "inf is not a finite number"),
        ('{"a": 1, "a": 2}', "duplicate name 'a' in an object"),
        ({"5": 1, 5.0: 2}, "the document '5' has two grades"),
        (True, "True is not a document id"),
        ([None], "null is not a document id"),
        *each_of(("starts like a list but cannot be parsed", UNCLEAR)),
        ('"a"; "b"', "the quotes of '\"a\"' are unclear"),
        ("1 2", "'1 2' may be one id or several; separate ids with commas"),
        (", ;", "', ;' contains no id"),
    ],
)
def test_relevance_has_grades_where_they_are_given(value: object, expected: object):
    expect(relevance, value, expected)


def test_a_word_for_missing_is_missing():
    for word in ("nan", "NaN", "None", "NULL", "null", "N/A", "n/a", "na", " NA "):
        assert relevance(word) is None
        assert ranking(word) is None


@each_case(
    ("value", "message"),
    [
        ("1, nan", "'nan' is not an id; remove it, or put it in quotes if it is one"),
        ("[None, x]", "'None' is not an id"),
        ("1,,2", "an id is missing in '1,,2'; remove a separator, or fill it in"),
        ("[1.0, NaN]", "nan is not a finite number"),
        ("-", "'-' is ambiguous; write [] for no documents, or leave it blank if unknown"),
        (1.2345678901234568e16, "12345678901234568 may not be the number that was typed"),
        ("[-2e15]", "-2000000000000000 may not be the number that was typed"),
    ],
)
def test_what_may_be_another_id_is_reported_in_both(value: object, message: str):
    expect(relevance, value, message)
    expect(ranking, value, message)


A, B = Context(text="a"), Context(text="b")
A1, A7 = Context(text="a", id="1"), Context(text="a", id="7", score=-0.5)
PRINTED = "[Document(id='1', metadata={'n': nan}, page_content='a'), Document(text='b')]"
UNPARSED = [
    *("['a ' 'b', 'c']", "['a' 'b' ... 'c']", "{'a', 'b", "('a', 'b", "{a,b}", "[“a”, “b”]"),
    *("[Document(page_content='a', metadata=<M>)]", "[<Document object at 0x7f>]", '["a", "b]'),
    "0    a\n1    b\ndtype: object",
]


@each_case(
    ("value", "expected"),
    each_of(
        ((A, B), [["a", "b"], '["a", "b"]', "{'a', 'b'}", "array(['a', 'b'], dtype=object)"]),
        ((A, B), ['"[\\"a\\", \\"b\\"]"']),
        ((A, Context(text="it's")), ["['a', \"it's\"]", "['a'\n \"it's\"]"]),
        ((A7,), ['[{"text": "a", "id": 7, "score": -0.5}]']),
        ((A7,), [[{"text": "a", "id": 7.0, "score": -0.5, "page": 3}]]),
        ((A7,), ["[NodeWithScore(node=TextNode(id_='7', text='a'), score=-0.5)]"]),
        ((Context(text="", id="7"),), [[{"text": "", "id": "7"}]]),
        ((A,), ["frozenset({'a'})", "[np.str_('a')]", "page_content='a' metadata={'s': 1}"]),
        ((A1, B), ["[{'text': 'a', 'id': 1}\n {'text': 'b'}]", PRINTED]),
        ((Context(text="a b"), Context(text='say "c"')), ['{"a b","say \\"c\\""}']),
        ((), ["{}", "set()", "[]", "", []]),
        ("this is 5, not a list of texts", [5]),
        ("this is an object, not a list of texts", [{"text": "a"}]),
        ("item 2 is 5, not text or an object with text", [["a", 5]]),
        ("item 1 has no text; it has 'id'", [[{"id": "a"}]]),
        ("item 1: the score is 'high', not a number", [[{"text": "a", "score": "high"}]]),
        ("item 1: this is a list, not text", [[{"text": ["a"]}]]),
        ("this starts like a list but cannot be parsed", UNPARSED),
        ("(its end is missing); write", ["['The sky is blue.', 'The', '", '[{"text": "a"}, {"te']),
    ),
)
def test_contexts_in_every_form(value: object, expected: object):
    expect(contexts, value, expected)
    for same in ("one, text", "[1] Miller says so.", '("Company") means us', '"a", "b"', "{name}"):
        assert contexts(same) == (Context(text=same),)


@each_case(
    ("value", "expected"),
    each_of(
        ("b 2", [["b", 2], "b, 2.0", "{b,2}"]),
        ("2 1", ["[2, 1]", "[2 1]", "[np.int64(2), 1]", [np.int64(2), np.array(1)]]),
    ),
)
def test_rankings_in_every_form(value: object, expected: str):
    assert " ".join(str(each.id) for each in ranking(value) or ()) == expected
    assert ranking('[{"point_id": 3, "score": 0.9}]') == (Context(id="3", score=0.9),)
    assert ranking([{"text": "only a text"}]) == (Context(text="only a text"),)
    expect(ranking, [["a"]], "item 1 is a list, not an id or")
    expect(ranking, [None], "item 1 is null")
    expect(ranking, [{"score": 1}], "item 1 has neither id nor text; it has 'score'")


def test_a_table_among_joined_texts_is_refused():
    for value in ("a|\n| x | y |\n| --- | --- |", "a||b"):
        assert isinstance(split_joined(value), Unreadable)
