import math
import re

import pytest
from tests.cases import each_case

from ragstone.datasets.values import ranking, relevance
from ragstone.types.sample import Context

UUID = "0d6f3c5e-3f0a-4c43-9f6e-2a3f6f0f7d11"


@each_case(
    ("value", "expected"),
    [
        (5, ["5"]),
        (5.0, ["5"]),
        (5.5, ["5.5"]),
        ("5", ["5"]),
        ("5.0", ["5"]),
        ("1.0, 2.0", ["1", "2"]),
        ("-1.00", ["-1"]),
        ('"5"', ["5"]),
        ('"5.0"', ["5"]),
        ("'a', 'b'", ["a", "b"]),
        ("1, 2", ["1", "2"]),
        ("1,2,", ["1", "2"]),
        ("[1, 2]", ["1", "2"]),
        ("[1.0, 2.0]", ["1", "2"]),
        ('["doc-a", "doc-b"]', ["doc-a", "doc-b"]),
        ("['doc-a', 'doc-b']", ["doc-a", "doc-b"]),
        ("('doc-a', 'doc-b')", ["doc-a", "doc-b"]),
        ('["5.0"]', ["5"]),
        ("a;b", ["a", "b"]),
        ("a|b", ["a", "b"]),
        ("１，２、３；文書１", ["1", "2", "3", "文書１"]),
        ("a\tb", ["a", "b"]),
        ("a\nb\r\nc", ["a", "b", "c"]),
        ("my file.pdf, other.pdf", ["my file.pdf", "other.pdf"]),
        (UUID, [UUID]),
        (f" {UUID} , {UUID[::-1]} ", [UUID, UUID[::-1]]),
        (["b", 2, 1.0], ["b", "2", "1"]),
        ("[]", []),
        ("", []),
        ([], []),
    ],
)
def test_ids_in_every_form(value: object, expected: list[str]):
    assert ranking(value) == tuple(Context(id=name) for name in expected)
    assert relevance(value) == dict.fromkeys(expected, 1.0)


@each_case(
    ("value", "expected"),
    [
        ({"doc-a": 2}, {"doc-a": 2.0}),
        ('{"doc-a": 2, "doc-b": 0}', {"doc-a": 2.0, "doc-b": 0.0}),
        ("{'doc-a': 0.5}", {"doc-a": 0.5}),
        ({5: 1, "7": -1}, {"5": 1.0, "7": -1.0}),
        ({"a": True, "b": False}, {"a": 1.0, "b": 0.0}),
        ({}, {}),
        ("{}", {}),
        (["a", "a"], {"a": 1.0}),
    ],
)
def test_relevance_has_grades_where_they_are_given(value: object, expected: dict[str, float]):
    assert relevance(value) == expected


@each_case(
    ("value", "said"),
    [
        ({"a": "high"}, "the grade of 'a' is 'high', not a number"),
        ({"a": None}, "the grade of 'a' is null, not a number"),
        ({"a": [1]}, "the grade of 'a' is a list, not a number"),
        ('{"a": NaN}', "nan is not a finite number"),
        ('{"a": 1e999}', "inf is not a finite number"),
        ('{"a": 1, "a": 2}', "duplicate name 'a' in an object"),
        ({"5": 1, 5.0: 2}, "the document '5' has two grades"),
        (True, "True is not a document id"),
        ([None], "null is not a document id"),
        ([["a"]], "a list is not a document id"),
        ([""], "a document id is blank"),
        ("[a, b]", "starts like a list but cannot be parsed"),
        ("['a' 'b']", "starts like a list but cannot be parsed"),
        ("(1", "starts like a list but cannot be parsed"),
        ("1 2", "'1 2' may be one id or several; separate ids with commas"),
        (", ;", "', ;' contains no id"),
    ],
)
def test_what_is_no_id_or_grade_is_told(value: object, said: str):
    with pytest.raises(ValueError, match=re.escape(said)):
        relevance(value)


@each_case("value", ["nan", "NaN", "None", "NULL", "null", "N/A", "n/a", "na", " NA "])
def test_a_word_for_missing_is_missing(value: str):
    assert relevance(value) is None
    assert ranking(value) is None


def test_a_word_for_missing_is_an_id_in_quotes():
    assert relevance('["NA"]') == relevance("'NA'") == relevance(["NA"]) == {"NA": 1.0}


@each_case(
    ("value", "said"),
    [
        ("1, nan", "'nan' is not an id; remove it, or put it in quotes if it is one"),
        ("1, -", "'-' is not an id"),
        ("1; N/A; 2", "'N/A' is not an id"),
        ("[1.0, nan]", "'nan' is not an id"),
        ("[None, x]", "'None' is not an id"),
        ("[1, None]", "null"),
        ("[1.0, NaN]", "nan is not a finite number"),
        ("-", "'-' is ambiguous; write [] for no documents, or leave it blank if unknown"),
        (" — ", "'—' is ambiguous"),
        (1.2345678901234568e16, "12345678901234568 may not be the number that was typed"),
        ([1e15], "1000000000000000 may not be the number that was typed"),
        ("[-2e15]", "-2000000000000000 may not be the number that was typed"),
    ],
)
def test_what_may_be_another_id_is_told_in_both(value: object, said: str):
    for read in (relevance, ranking):
        with pytest.raises(ValueError, match=re.escape(said)):
            read(value)


def test_a_long_whole_number_is_exact():
    assert relevance(12345678901234567) == {"12345678901234567": 1.0}


def test_what_is_not_finite_is_no_id():
    with pytest.raises(ValueError, match="may not be the number"):
        relevance(math.inf)
