from collections.abc import Sequence
from typing import Any

from tests.cases import each_case

from ragstone.results.comparison import About, ClaimChanges, Comparison, Kind, compare
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import Source
from ragstone.types.gate import Gate

RUNS = Any
MARK = Gate(metric="hit@5", op=">=", threshold=0.8)


def compared(runs: RUNS, **changed: Any) -> Comparison:
    one, two = runs.of({"faithfulness": [1]}), runs.of({"faithfulness": [1]}, run_id="b", **changed)
    return compare(one, two)


@each_case(
    ("changed", "about", "name", "words"),
    [
        ({"judge": "openai:m"}, About.JUDGE, "judge", ("offline", "openai:m")),
        ({"plan": {"temperature": 0.5}}, About.JUDGE, "temperature", ("0.0", "0.5")),
        ({"plan": {"verify": "each"}}, About.JUDGE, "verify", ("batch", "each")),
        ({"plan": {"policy": "ragas"}}, About.JUDGE, "policy", ("strict", "ragas")),
        (
            {"identity": {"judge setup": "0123456789abcdef"}},
            About.JUDGE,
            "prompts, model and options (hash)",
            ("none", "0123456789ab"),
        ),
        ({"target": "http://x"}, About.TARGET, "target", ("none", "http://x")),
        ({"plan": {"k": (3, 5)}}, About.RETRIEVAL, "k", ("5", "3, 5")),
        ({"plan": {"columns": {"query": "Frage"}}}, About.DATA, "columns", ("none", "query=Frage")),
        (
            {"plan": {"gates": (MARK, MARK.model_copy(update={"op": "<=", "of": "interval"}))}},
            About.SETTINGS,
            "gates",
            ("none", "hit@5 >= 0.8, interval of hit@5 <= 0.8"),
        ),
        ({"plan": {"limit": 9}}, About.DATA, "limit", ("none", "9")),
        ({"version": "0.2.0"}, About.VERSION, "ragstone", ("0.1.0", "0.2.0")),
        ({"plan": {"retries": 1}}, About.SETTINGS, "retries", ("7", "1")),
        ({"plan": {"max_calls": 1}}, About.SETTINGS, "max_calls", ("none", "1")),
    ],
)
def test_a_change_is_told_in_its_group(
    runs: RUNS, changed: dict[str, Any], about: About, name: str, words: tuple[str, str]
) -> None:
    comparison = compared(runs, **changed)
    assert comparison.changes == ((about, name, *words),)
    assert comparison.judge_changed is (about is About.JUDGE)


def test_the_judge_comes_first_and_the_data_next(runs: RUNS) -> None:
    source = Source(name="data.xlsx", fingerprint="e" * 64, rows=1)
    comparison = compared(runs, source=source, judge="other", version="9", target="t")
    told = [change.about for change in comparison.changes]
    assert told == [About.JUDGE, About.DATA, About.TARGET, About.VERSION]


def test_what_follows_from_another_judge_is_not_told_again(runs: RUNS) -> None:
    for changed, told in (
        ({"judge": "openai:m", "judge_note": "a model"}, ["judge"]),
        ({"plan": {"temperature": 0.5}}, ["temperature"]),
        ({"plan": {"policy": "ragas"}}, ["prompts, model and options (hash)", "policy"]),
    ):
        comparison = compared(runs, identity={"judge setup": "0123"}, **changed)
        assert [change.name for change in comparison.changes] == told


def test_where_no_metric_of_both_was_judged_no_judge_changed(runs: RUNS) -> None:
    assert compared(runs).changes == ()
    b = runs.of({"hit@5": [1]}, run_id="b", judge=None, judge_note=None)
    a = runs.of({"hit@5": [1]}, judge=None, judge_note=None, plan={"judge": "openai:m"})
    other = runs.of({"hit@5": [1], "faithfulness": [1]}, judge="openai:m")
    for one in (a, other):
        comparison = compare(one, b)
        assert (comparison.changes, comparison.judge_changed) == ((), False)


@each_case(
    ("setup", "plan", "changes"),
    [
        ("1", {"embedding_model": "openai:e"}, [(About.SETTINGS, "embedding_model")]),
        ("2", {}, [(About.JUDGE, "prompts, model and options (hash)")]),
    ],
)
def test_the_same_judge_for_one_more_kind_of_question_is_no_changed_judge(
    runs: RUNS, setup: str, plan: dict[str, str], changes: list[tuple[About, str]]
) -> None:
    """Its hash in the identity covers the questions of all metrics."""
    one = {"identity": {"judge setup": "a"}, "judge_setups": {"faithfulness": "1"}}
    setups = {"faithfulness": setup, "context_recall": "2"}
    other = {"identity": {"judge setup": "b"}, "judge_setups": setups, "plan": plan}
    a = runs.of({"faithfulness": [1]}, **one)
    b = runs.of({"faithfulness": [1], "context_recall": [1]}, run_id="b", **other)
    comparison = compare(a, b)
    assert [(change.about, change.name) for change in comparison.changes] == changes
    assert comparison.judge_changed is (setup == "2")


def test_another_rule_for_a_metric_is_a_changed_judge(runs: RUNS) -> None:
    a, b = runs.of({"faithfulness": [1]}), runs.of({"faithfulness": [1]}, run_id="b")
    info = b.metrics["faithfulness"].model_copy(update={"policy": "weighted", "low": -1.0})
    comparison = compare(a, type(b)(b.manifest, {"faithfulness": info}, b.rows))
    (change,) = comparison.changes
    assert change.a == "policy strict, 0 to 1, higher is better"
    assert change.b == "policy weighted, -1 to 1, higher is better"
    assert comparison.judge_changed


YES, NO, UNKNOWN = Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_INFO


def changes(
    runs: RUNS, a: Sequence[JudgedClaim], b: Sequence[JudgedClaim], top: int = 5
) -> ClaimChanges:
    one, two = (runs.of({"faithfulness": [runs.claimed(0.5, *side)]}) for side in (a, b))
    return compare(one, two, top=top).claims[0]


def test_an_example_with_one_of_each(runs: RUNS) -> None:
    def claims(*given: tuple[str, Label, str | None]) -> list[JudgedClaim]:
        return [runs.claim(*each) for each in given]

    same, sheet = "It lasts 20 hours.", "the sheet says so"
    weighs, blue, floats = "It weighs 9 g.", "It is blue.", "It floats."
    was = claims((same, YES, None), (weighs, YES, sheet), (blue, NO, None), (floats, YES, sheet))
    now = claims(
        ("it lasts  20 hours.", YES, None),
        (weighs, NO, "it is 90 g"),
        (blue, YES, None),
        ("It flies.", UNKNOWN, "nobody says so"),
    )
    sings = [runs.claim("It sings.", label) for label in (NO, UNKNOWN)]
    found = changes(runs, [*was, sings[0]], [*now, sings[1]])
    assert found.unchanged == 2
    assert set(found.counts.values()) == {1}
    assert found.appeared_unsupported == 1
    told = {kind: found.first[kind][0] for kind in Kind}
    assert {kind: (each.text, each.a, each.b, each.reason) for kind, each in told.items()} == {
        Kind.LOST: (weighs, YES, NO, "it is 90 g"),
        Kind.GAINED: (blue, NO, YES, None),
        Kind.APPEARED: ("It flies.", None, UNKNOWN, "nobody says so"),
        Kind.VANISHED: (floats, YES, None, sheet),
    }
    assert told[Kind.LOST].sample_id == "q0"


@each_case(
    ("one", "other"),
    [("20 Hours", "20 HOURS"), ("ﬁne", "fine"), ("１０ g", "10 g"), ("a\u00a0b", " a  b\n")],
)
def test_case_width_and_space_are_no_difference(runs: RUNS, one: str, other: str) -> None:
    assert changes(runs, [runs.claim(one, YES)], [runs.claim(other, YES)]).unchanged == 1


def test_a_claim_held_against_other_texts_is_another_claim(runs: RUNS) -> None:
    claim = runs.claim("It floats.", YES)
    other = claim.model_copy(update={"against": "reference"})
    found = changes(runs, [claim], [other])
    assert found.counts[Kind.APPEARED] == found.counts[Kind.VANISHED] == 1


def test_of_those_that_appeared_the_unsupported_come_first(runs: RUNS) -> None:
    told = [runs.claim(f"It has {i} legs.", YES if i < 3 else NO) for i in range(5)]
    found = changes(runs, [], told, top=3)
    assert [each.b for each in found.first[Kind.APPEARED]] == [NO, NO, YES]
    assert (found.counts[Kind.APPEARED], found.appeared_unsupported) == (5, 2)


def test_claims_of_a_sample_that_failed_in_one_run_are_no_change(runs: RUNS) -> None:
    a = runs.of({"faithfulness": [runs.claimed(1.0, runs.claim("It floats.", YES))]})
    (found,) = compare(a, runs.of({"faithfulness": [runs.failed()]}, run_id="b")).claims
    assert not any(found.counts.values())
    assert compare(runs.of({"hit@5": [1]}), runs.of({"hit@5": [1]})).claims == ()
