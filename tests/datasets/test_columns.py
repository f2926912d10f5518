import pytest

from ragstone.datasets.columns import ALIASES, Layout, doubts
from ragstone.errors import UsageError
from ragstone.samples import Sample

PAIRS = [(field, alias) for field, aliases in ALIASES.items() for alias in aliases]


def test_the_table_has_every_field_of_a_sample():
    assert set(ALIASES) == set(Sample.model_fields)


@pytest.mark.parametrize(("field", "alias"), PAIRS)
@pytest.mark.parametrize("change", [str, str.upper, str.title, lambda name: f" {name} "])
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


def test_two_columns_for_one_field_are_a_problem():
    columns = ["question", "user_input"]
    (problem,) = doubts(Layout.of(columns, {}), columns)
    assert str(problem) == (
        "the columns 'question' and 'user_input' both mean query; choose: --map query=COLUMN"
    )


def test_two_columns_for_one_field_are_none_if_one_is_mapped():
    columns = ["question", "user_input"]
    layout = Layout.of(columns, {"query": "User Input"})
    assert doubts(layout, columns) == []
    assert layout.fields == {"query": "user_input"}
    assert layout.tags == ("question",)


def test_no_query_tells_the_columns_and_the_nearest():
    columns = ["Querry", "answer"]
    (problem,) = doubts(Layout.of(columns, {}), columns)
    assert str(problem) == (
        "no column is the query; the columns are 'Querry', 'answer'; "
        "did you mean --map query=Querry?"
    )


def test_no_query_and_nothing_like_it():
    (problem,) = doubts(Layout.of(["xyz"], {}), ["xyz"])
    assert str(problem) == (
        "no column is the query; the columns are 'xyz'; say which: --map query=COLUMN"
    )


@pytest.mark.parametrize(
    ("mapped", "said"),
    [
        ({"qurey": "a"}, "there is no field named 'qurey'; did you mean 'query'?"),
        ({"question": "a"}, "'question' is called 'query' here: --map query=a"),
        (
            {"query": "Fragen"},
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
        Layout.of(["Frage", "Antwort"], mapped)
    assert str(caught.value) == said
