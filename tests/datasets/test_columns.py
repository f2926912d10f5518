import re

import pytest
from tests.cases import each_case

from ragstone.datasets.columns import ALIASES, Layout, argument, chosen, doubt, flag, no_query
from ragstone.errors import UsageError
from ragstone.types.sample import Sample

PAIRS = [(field, alias) for field, aliases in ALIASES.items() for alias in aliases]


def test_the_table_has_every_field_of_a_sample():
    assert set(ALIASES) == set(Sample.model_fields)


@each_case(("field", "alias"), PAIRS)
@each_case("change", [str, str.upper, str.title, lambda name: f" {name} "])
def test_every_alias_is_its_field(field: str, alias: str, change: type[str]):
    name = change(alias)
    assert Layout.of([name], {}).fields == {field: name}


@pytest.mark.parametrize(
    "name", ["Ground_truth_answer", "ground truth answer", "GroundTruth-Answer"]
)
def test_names_match_without_case_blanks_underscores_and_hyphens(name: str):
    assert Layout.of([name], {}).fields == {"reference": name}


def test_unknown_columns_become_tags_under_their_own_names():
    layout = Layout.of(["query", "Difficulty", "source_files"], {})
    assert layout.tags == ("Difficulty", "source_files")


def test_columns_of_several_turns_stand_apart():
    assert Layout.of(["query", "Messages"], {}).conversations == ("Messages",)


def test_a_mapping_goes_before_the_names():
    layout = Layout.of(["question", "Frage"], {"query": "Frage"})
    assert layout.fields == {"query": "Frage"}
    assert layout.tags == ("question",)


def test_two_columns_for_one_field_are_in_doubt():
    layout = Layout.of(["question", "a", "user_input"], {})
    assert layout.doubts == {"query": ("question", "user_input")}
    assert (dict(layout.fields), layout.tags) == ({}, ("a",))
    assert str(doubt("query", layout.doubts["query"], say=flag, row=3)) == (
        "row 3: the columns 'question' and 'user_input' all match query; "
        "choose one: --map query=COLUMN"
    )


def test_two_columns_for_one_field_are_in_no_doubt_if_one_is_chosen():
    columns = ["question", "user_input"]
    layout = Layout.of(columns, chosen({"query": "User Input"}, columns, say=flag))
    assert layout.doubts == {}
    assert layout.fields == {"query": "user_input"}
    assert layout.tags == ("question",)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            ["Querry", "answer"],
            (
                "no query column found; the columns are 'Querry', 'answer'; "
                "did you mean --map query=Querry?"
            ),
        ),
        (
            ["xyz"],
            "no query column found; the columns are 'xyz'; map one with --map query=COLUMN",
        ),
        ([], "no query column found; the columns are none; map one with --map query=COLUMN"),
    ],
)
def test_no_query_tells_the_columns_and_the_nearest(columns: list[str], said: str):
    assert str(no_query(columns, say=flag)) == said


@each_case(("field", "alias"), PAIRS)
def test_a_mapping_understands_other_names_of_a_field(field: str, alias: str):
    assert chosen({alias: "x"}, ["x"], say=flag) == {field: "x"}


def test_a_mapping_in_python_is_told_as_an_argument():
    with pytest.raises(UsageError, match=re.escape("columns={'query': 'Frage'}: there is no")):
        chosen({"query": "Frage"}, ["Antwort"], say=argument)


@pytest.mark.parametrize(
    ("mapped", "said"),
    [
        ({"qurey": "a"}, "there is no field named 'qurey'; did you mean 'query'?"),
        (
            {"relevance": "Frage", "point_ids": "Antwort"},
            "--map point_ids=Antwort: relevance is already mapped to a column",
        ),
        (
            {"question": "Fragen"},
            (
                "--map query=Fragen: there is no column 'Fragen'; did you mean --map query=Frage? "
                "(the columns are 'Frage', 'Antwort')"
            ),
        ),
        (
            {"query": "xyz"},
            "--map query=xyz: there is no column 'xyz' (the columns are 'Frage', 'Antwort')",
        ),
    ],
)
def test_a_mapping_of_what_is_not_there(mapped: dict[str, str], said: str):
    with pytest.raises(UsageError) as caught:
        chosen(mapped, ["Frage", "Antwort"], say=flag)
    assert str(caught.value) == said
