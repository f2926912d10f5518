from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone._internal.yaml import MOST
from ragstone.errors import InputError, UsageError
from ragstone.metrics.rubric import NamedRubric, rubrics_in

GOOD = """\
name: politeness
criteria: How polite is it?
levels: {1: rude, 3: neutral, 5: warm}
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return put


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as refused:
        rubrics_in(path)
    assert refused.value.file == str(path)
    return [str(problem) for problem in refused.value.problems]


def test_a_file_is_one_rubric(write: Write) -> None:
    assert rubrics_in(write(GOOD)) == (
        NamedRubric(
            name="politeness",
            criteria="How polite is it?",
            levels={1: "rude", 3: "neutral", 5: "warm"},
        ),
    )


def test_what_is_optional_is_read(write: Write) -> None:
    more = "label: No\nreads: [response, query, contexts, reference]\nhigher_is_better: false\n"
    (rubric,) = rubrics_in(write(GOOD + more))
    assert rubric.label == "No"
    assert rubric.reads == ("response", "query", "contexts", "reference")
    assert rubric.higher_is_better is False


def test_words_stay_as_they_are_written(write: Write) -> None:
    text = "name: a\ncriteria: ${HOME} costs 1_0 $\nlevels: {-1: no, 0: 010, 12: 2024-05-01}\n"
    (rubric,) = rubrics_in(write(text))
    assert rubric.criteria == "${HOME} costs 1_0 $"
    assert rubric.levels == {-1: "no", 0: "010", 12: "2024-05-01"}


def test_a_file_may_hold_several(write: Write) -> None:
    first, second = GOOD.replace("\n", "\n    "), GOOD.replace("politeness", "brevity")
    second = second.replace("\n", "\n    ")
    found = rubrics_in(write(f"rubrics:\n  - {first}\n  - {second}"))
    assert [rubric.name for rubric in found] == ["politeness", "brevity"]


def test_all_problems_are_told_at_once_each_with_its_row(write: Write) -> None:
    text = (
        "name: Polite!\n"
        "criteria: '  '\n"
        "levels:\n"
        "  1.5: so\n"
        "  2: ''\n"
        "reads: [query, way]\n"
        "critera: x\n"
        "label:\n"
    )
    assert problems(write(text)) == [
        "row 1: name: this is no metric name; use lower case letters, digits and _, got 'Polite!'",
        "row 2: criteria: this is blank, got '  '",
        "row 4: levels.1.5: a level is a whole number, such as 3, got '1.5'",
        "row 5: levels.2: this is blank, got ''",
        "row 6: reads.1: Input should be 'query', 'response', 'contexts' or 'reference', got 'way'",
        "row 7: there is no key 'critera'; did you mean 'criteria'?",
        "row 8: label: this is blank, got ''",
    ]


@each_case(
    ("text", "told"),
    [
        ("", "there is no criteria"),
        ("- a\n", "`key: value` lines with name, criteria and levels belong here"),
        ("just words\n", "`key: value` lines with name, criteria and levels belong here"),
        ("a: [\n", "invalid YAML"),
        ("a: \x01\n", "invalid YAML"),
        (GOOD.replace("3: neutral, 5: warm", ""), "levels: a scale needs two levels or more"),
        (GOOD.replace("3: n", "1: n"), "row 3: the name '1' stands twice"),
        (GOOD.replace("3: n", "01: n"), "levels.01: a level is a whole number"),
        (GOOD.replace("3: n", "yes: n"), "levels.yes: a level is a whole number"),
        (GOOD.replace("3: n", "9999999999: n"), "a level is a whole number"),
        (GOOD + "higher_is_better: x\n", "row 4: higher_is_better: Input should be a valid bool"),
        (GOOD + "reads: [response]\n", "reads: the judge always reads query; add it"),
        (GOOD + "name: again\n", "row 1: the name 'name' stands twice"),
        (GOOD + "label: !!python/name:os.system x\n", "has no meaning here; write a plain value"),
        (GOOD.replace("How polite is it?", "&a [*a, *a]"), "an alias stands here; write it out"),
        ("rubrics: []\n", "row 1: rubrics: a list of rubrics belongs here"),
        ("rubrics: x\n", "rubrics: a list of rubrics belongs here"),
        (GOOD + "rubrics: [{name: a}]\n", "a list of rubrics belongs here, and nothing beside it"),
        ("rubrics:\n- name: a\n- x\n", "row 2: there is no criteria"),
        ("rubrics:\n- name: a\n- x\n", "row 3: `key: value` lines"),
    ],
)
def test_what_is_no_rubric_is_refused(write: Write, text: str, told: str) -> None:
    assert any(told in problem for problem in problems(write(text)))


def test_a_name_that_stands_twice_in_a_list_is_refused(write: Write) -> None:
    item = GOOD.replace("\n", "\n  ").rstrip()
    assert problems(write(f"rubrics:\n- {item}\n- {item}\n")) == [
        "row 5: name: 'politeness' stands twice"
    ]


def test_aliases_cannot_make_a_small_file_large(write: Write) -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]" for n in range(40))]
    assert any("an alias stands here" in problem for problem in problems(write("\n".join(lines))))


def test_lists_within_lists_do_not_end_the_process(write: Write) -> None:
    assert "invalid YAML" in problems(write("a: " + "[" * 5000))[0]


def test_a_large_file_is_no_rubric(write: Write) -> None:
    with pytest.raises(UsageError, match="has more than 1,000,000 bytes"):
        rubrics_in(write("#" * (MOST + 1)))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere\.yaml cannot be read"):
        rubrics_in(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(UsageError, match=r"latin\.yaml cannot be read"):
        rubrics_in(tmp_path / "latin.yaml")


def test_the_definition_says_criteria_scale_and_what_is_read(write: Write) -> None:
    (rubric,) = rubrics_in(write(GOOD))
    assert rubric.definition == (
        "How polite is it?\n"
        "\n"
        "Formula: the level that the judge gives the response by these criteria. Range 1 to 5.\n"
        "1: rude\n"
        "3: neutral\n"
        "5: warm\n"
        "The judge reads: query, response.\n"
        "Undefined: the response, or another text it reads, is blank. One call a sample."
    )
