import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cases import each_case

from ragstone import evaluate, load
from ragstone.errors import UsageError
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics.retrieval import Hit

# b, the only relevant one, is at rank 3
ROW = {"query": "q", "relevance": ["b"], "ranking": ["x", "y", "b"]}


def test_what_was_loaded_is_evaluated_as_its_file_is(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW))
    loaded, named = (evaluate(data, metrics=["mrr"]) for data in (load(path), path))
    assert loaded.rows[0].scores == named.rows[0].scores
    assert loaded.manifest.fingerprint == named.manifest.fingerprint
    late = {"limit": 1, "sample": 1, "columns": {"query": "asked"}, "sheet": "Sheet1"}
    for name, value in late.items():
        with pytest.raises(UsageError, match=f"pass {name} to load"):
            evaluate(load(path), metrics=["mrr"], **{name: value})


def test_a_metric_is_there_at_each_of_several_cut_offs_in_their_order() -> None:
    run = evaluate([ROW], metrics=["hit", "precision@2", "r_precision", "mrr"], k=[3, 1])
    values = [(name, score.value) for name, score in run.rows[0].scores.items()]
    several = [("hit@3", 1), ("hit@1", 0), ("precision@2", 0), ("r_precision", 0)]
    assert values == [*several, ("mrr@3", 1 / 3), ("mrr@1", 0)]
    row = {**ROW, "response": "It is 5 g.", "contexts": ["It is 5 g."]}
    run = evaluate([row], metrics=["hit@5", "all", Hit(k=1)], k=(1, 5))
    names = list(run.metrics)
    assert names[:3] == ["hit@5", "hit@1", "recall@1"]
    assert len(names) == len(set(names)) == 2 * 5 + 1


def test_a_gate_names_its_cut_off_where_there_are_several() -> None:
    run = evaluate([ROW], metrics="hit", k=[1, 3], fail_under={"hit@3": 0.5})
    assert [(gate.metric, gate.passed) for gate in run.gates()] == [("hit@3", True)]
    with pytest.raises(UsageError, match=r"gate hit matches several metrics: hit@1, hit@3;"):
        evaluate([ROW], metrics="hit", k=[1, 3], fail_under={"hit": 0.5})


def test_a_judge_given_as_an_object_is_told_nothing_that_it_would_not_hear() -> None:
    row = {"query": "q", "response": "It is 5 g.", "reference": "It is 5 g."}
    judge = ScriptedJudge({"text_similarity": (1.0,)})
    options = {"embedding_model": "openai:e", "base_url": "http://localhost:1/v1", "max_calls": 3}
    for name, value in options.items():
        with pytest.raises(UsageError, match=rf"{name}.* judges given by name"):
            evaluate([row], metrics="answer_similarity", judge=judge, **{name: value})
    assert judge.asked == []
    run = evaluate([row], metrics="answer_similarity", judge=judge)
    assert run.summary()["answer_similarity"].mean == 1.0


@each_case(
    ("options", "message"),
    [
        ({"judge": "openai:m"}, "name your own server with base_url, or use the judge offline (no"),
        ({"metrics": "rouge_l"}, "Use map reference=referense"),
        ({"sheet": "x", "data": "a.jsonl"}, "remove sheet x"),
    ],
)
def test_errors_from_python_name_its_arguments(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    row = {"query": "q", "response": "r", "contexts": ["c"], "referense": "r"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    given = {"metrics": "faithfulness", "data": [row], **options}
    with pytest.raises(UsageError) as caught:
        evaluate(**given)
    assert message in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_plugin_is_loaded_as_by_the_command_line(module_file: Callable[..., str]) -> None:
    name = module_file(
        "lengths.py",
        "from ragstone import Metric, Score, register\n"
        "@register('n_letters')\n"
        "class Letters(Metric):\n"
        "    needs, high = ('response',), 99.0\n"
        "    async def score(self, sample, ask):\n"
        "        return Score.scored(len(sample.response))\n",
    )
    row = {"query": "q", "response": "abc"}
    for form in (name, name, Path(name), [Path(name)]):  # as a notebook's cell that is run again
        run = evaluate([row], metrics="n_letters", plugin=form)
        assert run.rows[0].scores["n_letters"].value == 3
    with pytest.raises(UsageError, match="plugin must be a module or file"):
        evaluate([row], metrics="n_letters", plugin={"n_letters": name})  # type: ignore[arg-type]
