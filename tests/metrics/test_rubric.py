from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.asking import asker
from tests.cases import each_case

import ragstone
from ragstone.errors import Cause, InputError, UsageError
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.metrics.registry import load_plugin, origin, register
from ragstone.metrics.rubric import NamedRubric, Rubric, RubricMetric, rubrics_in
from ragstone.types.claim import Rating
from ragstone.types.questions import RateResponse
from ragstone.types.reply import Failure
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

EXAMPLE = Path(__file__).parents[2] / "examples" / "politeness.yaml"
SAMPLE = Sample(
    id="1",
    query="How long?",
    response="20 hours.",
    contexts=(Context(text="It lasts 20 hours."), Context(text="")),
    reference="About 20 hours.",
)


def rubric_class(**said: Any) -> type[RubricMetric]:
    class Mine(RubricMetric):
        """How brief it is."""

        rubric = Rubric(criteria=" Brief? ", levels={3: " brief ", -1: "long"}, **said)

    return register("mine")(Mine)


async def score(judge: ScriptedJudge, metric: RubricMetric, **changed: Any) -> Score:
    return await metric.score(SAMPLE.model_copy(update=changed), asker(judge))


def rated(level: int, reason: str | None = "so") -> ScriptedJudge:
    return ScriptedJudge({"rate_response": Rating(level=level, reason=reason)})


async def test_the_example_runs_through_evaluate() -> None:
    load_plugin(str(EXAMPLE))
    load_plugin(str(EXAMPLE))  # again
    levels = {"With pleasure: 20 hours.": 5, "20 hours.": 2, "Read it.": 2}
    judge = ScriptedJudge(
        {"rate_response": lambda asked: {"level": levels[asked.response], "reason": "its tone"}}
    )
    rows = [{"query": "How long?", "response": response} for response in (*levels, " ")]
    run = await ragstone.evaluate_async(rows, metrics="politeness", judge=judge)
    summary = run.summary()["politeness"]
    assert (summary.mean, summary.scored, summary.undefined) == (3.0, 3, 1)
    assert dict(summary.extra) == {
        f"Level {n}": count for n, count in enumerate((0, 2, 0, 0, 1), 1)
    }
    first = run.rows[0].scores["politeness"]
    assert (first.value, first.reason) == (5.0, "its tone")
    assert dict(first.detail) == {"meaning": "friendly and attentive to the user"}
    assert run.rows[3].scores["politeness"].reason == "the response is blank"
    assert len(judge.asked) == 3
    metric = get("politeness")
    assert str(metric) == metric.spelled == "politeness"
    info = metric.described
    assert (info.label, info.family, info.low, info.high) == ("Politeness", "generation", 1, 5)
    assert (info.needs, info.calls, info.higher_is_better) == (("response",), 1, True)
    assert origin("politeness") == str(EXAMPLE)


def test_a_file_may_not_take_the_name_of_another_or_of_ours(tmp_path: Path) -> None:
    load_plugin(str(EXAMPLE))
    other = tmp_path / "other.yml"
    text = EXAMPLE.read_text(encoding="utf-8")
    for name, told in (("politeness", r"other\.yml[^$]*'politeness' .*ness\.yaml"), ("hit", "Hit")):
        other.write_text(text.replace("name: politeness", f"name: {name}"), encoding="utf-8")
        with pytest.raises(InputError, match=told):
            load_plugin(str(other))


async def test_the_judge_is_shown_what_the_rubric_reads_and_nothing_else() -> None:
    judge = rated(3)
    metric = rubric_class(reads=("query", "response", "contexts", "reference"))()
    assert (metric.needs, metric.range) == (("response", "contexts", "reference"), (-1.0, 3.0))
    assert (await score(judge, metric)).value == 3
    assert (await score(judge, metric, contexts=())).value == 3
    assert judge.asked[0] == RateResponse(
        criteria="Brief?",
        levels=((-1, "long"), (3, "brief")),
        query="How long?",
        response="20 hours.",
        contexts=("It lasts 20 hours.", ""),
        reference="About 20 hours.",
    )
    said = await score(judge := rated(-1, None), rubric_class()())
    assert (said.value, said.reason) == (-1, None)
    assert isinstance(asked := judge.asked[0], RateResponse)
    assert (asked.contexts, asked.reference) == (None, None)


@each_case(
    ("changed", "reason"),
    [
        ({"response": " \n"}, "the response is blank"),
        ({"reference": " "}, "the reference is blank"),
        ({"contexts": (Context(id="1"),)}, "the contexts have no text"),
    ],
)
async def test_what_is_blank_cannot_be_rated(changed: dict[str, object], reason: str) -> None:
    judge = rated(3)
    metric = rubric_class(reads=("query", "response", "contexts", "reference"))()
    said = await score(judge, metric, **changed)
    assert (said.state, said.reason, judge.asked) == ("undefined", reason, [])


@each_case(
    ("answer", "cause"),
    [(Rating(level=2), Cause.MALFORMED), (Failure(Cause.REFUSAL, "no"), Cause.REFUSAL)],
)
async def test_what_is_not_answered_is_no_number(answer: object, cause: Cause) -> None:
    rubric_class()
    judge = ScriptedJudge({"rate_response": answer})
    run = await ragstone.evaluate_async(
        [{"query": "q", "response": "r"}], judge=judge, metrics="mine"
    )
    said = run.rows[0].scores["mine"]
    assert (said.state, said.value, said.cause) == ("failed", None, cause)


def test_the_page_shows_the_example() -> None:
    page = (EXAMPLE.parents[1] / "docs" / "own-metrics-and-judges.md").read_text(encoding="utf-8")
    example = EXAMPLE.read_text(encoding="utf-8")
    assert f'```yaml title="politeness.yaml"\n{example[example.index("name:") :]}```\n' in page
    for key in NamedRubric.model_fields:
        assert f"`{key}`" in page


GOOD = "name: politeness\ncriteria: How polite is it?\nlevels: {1: rude, 3: neutral, 5: warm}\n"
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(text: str) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return put


ITEM = GOOD.replace("\n", "\n  ").rstrip()
TWICE = f"rubrics:\n- {ITEM}\n- {ITEM}\n"


def problems(path: Path) -> list[str]:
    with pytest.raises(InputError) as refused:
        rubrics_in(path)
    assert refused.value.file == str(path)
    return [str(problem) for problem in refused.value.problems]


def test_a_file_is_one_rubric_or_several(write: Write) -> None:
    plain = {"criteria": "How polite is it?", "levels": {1: "rude", 3: "neutral", 5: "warm"}}
    assert rubrics_in(write(GOOD)) == (NamedRubric(name="politeness", **plain),)
    more = "label: No\nreads: [response, query, contexts, reference]\nhigher_is_better: false\n"
    (rubric,) = rubrics_in(write(GOOD + more))
    assert (rubric.label, rubric.higher_is_better) == ("No", False)
    assert rubric.reads == ("response", "query", "contexts", "reference")
    first, second = GOOD.replace("\n", "\n    "), GOOD.replace("politeness", "brevity")
    listed = f"rubrics:\n  - {first}\n  - {second}".replace("\nc", "\n    c").replace(
        "\nl", "\n    l"
    )
    assert [rubric.name for rubric in rubrics_in(write(listed))] == ["politeness", "brevity"]


def test_words_stay_as_they_are_written(write: Write) -> None:
    text = "name: a\ncriteria: ${HOME} costs 1_0 $\nlevels: {-1: no, 0: 010, 12: 2024-05-01}\n"
    (rubric,) = rubrics_in(write(text))
    assert rubric.criteria == "${HOME} costs 1_0 $"
    assert rubric.levels == {-1: "no", 0: "010", 12: "2024-05-01"}


def test_all_problems_are_told_at_once_each_with_its_row(write: Write) -> None:
    text = "name: Polite!\ncriteria: '  '\nlevels:\n  1.5: so\n  2: ''\n"
    assert problems(write(text + "reads: [query, way]\ncritera: x\nlabel:\n")) == [
        "line 1: name: invalid metric name; use lower case letters, digits and _, got 'Polite!'",
        "line 2: criteria: the value is blank, got '  '",
        "line 4: levels.1.5: a level is a whole number, such as 3, got 1.5",
        "line 5: levels.2: the value is blank, got ''",
        "line 6: reads.1: must be 'query', 'response', 'contexts' or 'reference', got 'way'",
        "line 7: unknown key 'critera'; did you mean 'criteria'?",
    ]


@each_case(
    ("text", "told"),
    [
        ("", "criteria is missing"),
        ("- a\n", "expected `key: value` lines with name, criteria and levels"),
        (GOOD.replace("3: neutral, 5: warm", ""), "levels: a scale needs at least two levels"),
        (GOOD.replace("3: n", "1: n"), "line 3: invalid YAML: duplicate name '1'"),
        (GOOD.replace("3: n", "01: n"), "levels.01: a level is a whole number"),
        (GOOD.replace("3: n", "9999999999: n"), "a level is a whole number"),
        (GOOD + "higher_is_better: x\n", "line 4: higher_is_better: must be true or false"),
        (GOOD + "reads: [response]\n", "reads: the judge always reads query; add it"),
        (GOOD + "label: !!python/name:os.system x\n", "invalid YAML"),
        ("rubrics: []\n", "line 1: rubrics: expected a list of rubrics"),
        (GOOD + "rubrics: [{name: a}]\n", "expected a list of rubrics and no other keys"),
        ("rubrics:\n- name: a\n- x\n", "line 2: criteria is missing"),
        ("rubrics:\n- name: a\n- x\n", "line 3: expected `key: value` lines"),
        (TWICE, "line 5: name: 'politeness' appears twice"),
    ],
)
def test_what_is_no_rubric_is_refused(write: Write, text: str, told: str) -> None:
    assert any(told in problem for problem in problems(write(text)))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no file .*nowhere\.yaml"):
        rubrics_in(tmp_path / "nowhere.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    with pytest.raises(UsageError, match=r"latin\.yaml cannot be read"):
        rubrics_in(tmp_path / "latin.yaml")
