import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import SimpleNamespace
from uuid import UUID

import pytest
from tests.cases import each_case

from ragstone.datasets.table import Unreadable
from ragstone.datasets.values import claims, normalise_cell, query, sample_id, tag, tags, text
from ragstone.types.sample import Context


@each_case(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (date(2024, 5, 1), "2024-05-01"),
        (datetime(2024, 5, 1, 12, 3, tzinfo=UTC), "2024-05-01T12:03:00+00:00"),
        (time(12, 3), "12:03:00"),
        (timedelta(hours=50), "2 days, 2:00:00"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (Decimal("5.0"), 5),
        (Decimal(10**20), 10**20),
        (Decimal("0.1"), 0.1),
        (("a", 1), ["a", 1]),
        ({5: {"a": None}}, {5: {"a": None}}),
        ([Context(text="a")], [{"text": "a", "id": None, "score": None}]),
        ("grüße 🙂", "grüße 🙂"),
    ],
)
def test_plain_values(value: object, expected: object):
    assert normalise_cell(value) == expected


@each_case(
    ("value", "said"),
    [
        (float("nan"), "nan is not a finite number"),
        ([float("-inf")], "-inf is not a finite number"),
        ("a\0b", "the text contains a NUL character"),
        ("\ud800", "the text contains half of a surrogate pair ('\\ud800')"),
        ({"a\0": 1}, "the text contains a NUL character"),
        ({True: 1}, "the name True is not text; put it in quotes"),
        (Unreadable("the error #REF!"), "the error #REF!"),
        (Decimal("Infinity"), "inf is not a finite number"),
        (Decimal("1e999999"), "inf is not a finite number"),
        (Decimal("1e1000"), "is too large"),
        ([Decimal("sNaN")], "NaN"),
        (SimpleNamespace(), "values of type SimpleNamespace are not supported"),
        (2**2000, "a number of 2001 bits is too large"),
        (b"a", "values of type bytes are not supported"),
    ],
)
def test_what_no_store_could_hold_is_told(value: object, said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        normalise_cell(value)


def test_lists_in_lists_have_an_end():
    value: object = "a"
    for _ in range(100_000):
        value = [value]
    with pytest.raises(ValueError, match="lists or objects are nested more than 50 deep"):
        normalise_cell(value)


@each_case(
    ("value", "expected"), [("a ", "a "), (5, "5"), (5.0, "5"), (0.5, "0.5"), (True, "true")]
)
def test_text(value: object, expected: str):
    assert text(value) == expected
    assert query(value) == expected


def test_a_list_is_no_text():
    with pytest.raises(ValueError, match="this is a list, not a text"):
        text(["a"])


def test_a_blank_query_is_told():
    with pytest.raises(ValueError, match="the query is blank"):
        query(" \n")


@pytest.mark.parametrize(
    "value",
    [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        '[{"role": "user", "content": "a"}]',
        "[{'content': 'a', 'type': 'human'}]",
    ],
)
def test_a_conversation_is_no_query(value: object):
    with pytest.raises(ValueError, match="this is a conversation; write one row per turn"):
        query(value)


@pytest.mark.parametrize("value", ["[1] What is that?", "[]", '["a"]'])
def test_a_query_may_look_like_a_list(value: str):
    assert query(value) == value


def test_an_id_is_text_without_blanks_around_it():
    assert sample_id(" a1 ") == "a1"
    assert sample_id(5.0) == "5"
    with pytest.raises(ValueError, match="the id is blank"):
        sample_id(" ")


@each_case(
    ("value", "expected"),
    [
        (["a", " b "], ("a", "b")),
        ('["a", "b"]', ("a", "b")),
        ("['a', 'b']", ("a", "b")),
        ("a, still a\n\n b\r\n", ("a, still a", "b")),
        ("one", ("one",)),
        ("", ()),
        ("[]", ()),
        ([], ()),
    ],
)
def test_claims(value: object, expected: tuple[str, ...]):
    assert claims(value) == expected


@each_case(
    ("value", "said"),
    [
        (5, "this is 5; write a list of texts, or one per line"),
        ({}, "this is an object; write a list of texts"),
        (["a", 5], "item 2 is 5, not a text"),
        (["a", " "], "item 2 is blank, not a text"),
        ([None], "item 1 is null, not a text"),
    ],
)
def test_what_is_no_claim_is_told(value: object, said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        claims(value)


def test_a_tag_keeps_a_scalar_and_writes_the_rest_as_json():
    assert [tag(value) for value in ("a", 5, 0.5, True)] == ["a", 5, 0.5, True]
    assert tag(["ü", {"a": None}]) == '["ü",{"a":null}]'


@each_case(
    ("value", "expected"),
    [
        ({"a": 1, "b": ["x"], "c": None}, {"a": 1, "b": '["x"]'}),
        ('{"a": 1}', {"a": 1}),
        ("{}", {}),
        ("easy, faq", {"Tags": "easy, faq"}),
        (["easy", "faq"], {"Tags": '["easy","faq"]'}),
    ],
)
def test_an_object_of_tags_is_taken_apart(value: object, expected: dict[str, object]):
    assert tags(value, "Tags") == expected
