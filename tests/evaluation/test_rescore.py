import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragstone.errors import Cause, UsageError
from ragstone.evaluation.rescore import rescore, save
from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get, registry
from ragstone.results.run import Run
from ragstone.store import Store, StoreError
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.types.gate import gate
from ragstone.types.policy import POLICIES
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure, PartialVerdict
from ragstone.types.row import Row

CLAIMS = {
    "Two claims, one of them wrong.": ("It is blue.", "It is fast."),
    "One label cannot be read.": ("It is new.", "It is big."),
    "One verdict is missing.": ("It is old.", "It is small."),
}
CONTEXTS = [{"id": "a", "text": "It is blue and slow."}, {"id": "b", "text": "Else."}]
SAMPLES = [
    {"query": "q", "response": text, "contexts": CONTEXTS, "relevance": ["b"]}
    for text in (*CLAIMS, "Sure!", "", "Refused.")
] + [{"query": "q", "response": "Two claims, one of them wrong.", "contexts": []}]
METRICS = ("faithfulness", "hit@1", "hallucination")


def claims(question: ExtractClaims) -> object:
    if question.response == "Refused.":
        return Failure(Cause.REFUSAL, "I cannot help with that")
    return [Claim(text=text) for text in CLAIMS.get(question.response, ())]


def verdicts(question: VerifyClaims) -> object:
    yes, no = (Verdict(label=label) for label in (Label.SUPPORTED, Label.CONTRADICTED))
    if "new" in question.claims[0]:
        returned = (PartialVerdict(1, "yes", yes), PartialVerdict(2, "perhaps", None))
        return Failure(Cause.MALFORMED, "the label 'perhaps' cannot be read", returned)
    if "old" in question.claims[0]:
        returned = (PartialVerdict(1, "yes", yes),)
        return Failure(Cause.COUNT_MISMATCH, "got 1 verdict for 2 claims", returned)
    return [yes, no]


def judge() -> ScriptedJudge:
    return ScriptedJudge({"extract_claims": claims, "verify_claims": verdicts})


def made(policy: str = "strict", **options: object) -> Run:
    return evaluate(SAMPLES, **{"metrics": METRICS, "judge": judge(), "policy": policy} | options)


def numbers(run: Run) -> str:
    """All that people and machines read of a run's rows and summary, but for times."""
    keys = ("metrics", "blame", "policy")
    summary = {key: run.to_dict()[key] for key in keys}
    text = json.dumps([summary, [row.to_dict() for row in run.rows]], sort_keys=True)
    return re.sub(r'"(latency|p50|p95)_ms": [^,}]+', "", text)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "runs.db") as opened:
        yield opened


def test_a_stored_run_rescored_to_a_policy_equals_a_run_made_under_it(store: Store) -> None:
    for under in ("strict", "promptfoo-plan"):
        stored = store.load(made(under, store=store).manifest.run_id)
        assert numbers(rescore(stored)) == numbers(made(under))
        for policy in POLICIES:
            again, new = rescore(stored, policies=[policy]), made(policy)
            assert numbers(again) == numbers(new)
            assert again.extras == new.extras


def test_new_metrics_are_scored_where_nothing_new_is_to_be_asked() -> None:
    run = made()
    seen: list[tuple[int, int]] = []
    metrics = ["hit@2", get("recall@1"), "faithfulness"]
    again = rescore(run, metrics, on_row=lambda row, total: seen.append((row.index, total)))
    assert list(again.metrics) == ["hit@2", "recall@1", "faithfulness"]
    assert numbers(again) == numbers(made(metrics=["hit@2", "recall@1", "faithfulness"]))
    assert seen == [(index, len(SAMPLES)) for index in range(len(SAMPLES))]
    assert rescore(run, ["hit@2"]).manifest.judge is None
    again = rescore(run, ["all"])  # what needs more is left out and told
    assert "faithfulness" in again.metrics
    assert set(again.manifest.not_run) == {"response_relevancy", "context_precision"}
    assert not set(again.manifest.not_run) & set(again.metrics)


def test_what_needs_more_is_refused_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no answer to this verify_claims q"):
        rescore(made(), ["hit@1", "faithfulness,allow_partial=true"])
    with pytest.raises(UsageError, match="not to: hit@1"):
        rescore(made(metrics=["hit@1"], judge="offline"), policies=["ragas"])
    run = made()
    monkeypatch.delitem(registry._metrics, "hallucination")
    with pytest.raises(UsageError, match=r"no metric named 'hallucination'.*as a plugin"):
        rescore(run)


def test_the_runs_gates_are_left_out_and_new_ones_are_named_in_full() -> None:
    run = made(fail_under={"faithfulness": 0.9})
    again = rescore(run, policies=["ragas"])
    assert again.gates() == ()
    assert again.manifest.run_id != run.manifest.run_id
    assert again.manifest.plan.policy == "ragas"
    assert f"rescored from run {run.manifest.run_id}" in again.manifest.source.notes[-1]
    changed = again.manifest.changed(run.manifest)
    assert changed.keys() >= {"metrics", "scored again from"}
    again = rescore(run, policies=["ragas"], gates=[gate("faithfulness=0.9", ">=")])
    (result,) = again.gates()
    assert (result.metric, result.passed) == ("faithfulness:ragas", False)


async def test_rows_are_scored_anew_each_time_a_few_at_once() -> None:
    """Also within a running loop, as in a notebook."""

    run, read = made(), list[Row]()

    class Counted(list[Row]):
        def __iter__(self) -> Iterator[Row]:
            for row in super().__iter__():
                read.append(row)
                yield row

    again = rescore(Run(run.manifest, run.metrics, Counted([*run.rows] * 60)), ["hit@1"]).rows
    assert len(again) == len(read) == 420
    assert next(iter(again)).scores.keys() == {"hit@1"}
    assert len(read) == 620


def test_a_saved_run_is_one_of_its_own_and_can_be_rescored_back(store: Store) -> None:
    run = made(store=store)
    again = rescore(store.load(run.manifest.run_id), policies=["deepeval"])
    save(again, store)
    stored = store.load(again.manifest.run_id)
    assert numbers(stored) == numbers(again)
    assert stored.manifest == again.manifest
    info = store.info(again.manifest.run_id)
    assert (info.rows, info.finished, info.summary) == (
        7,
        True,
        json.loads(json.dumps(again.to_dict())),
    )
    assert numbers(rescore(stored, policies=["strict"])) == numbers(run)
    run = store.load(made(store=store, transcript=False).manifest.run_id)
    with pytest.raises(UsageError, match="stored without its transcript"):
        rescore(run)
    assert rescore(run, ["hit@2"]).summary()["hit@2"].mean == 1


def test_a_run_that_could_not_be_saved_whole_leaves_nothing(store: Store) -> None:
    class Breaks(list[Row]):
        def __iter__(self) -> Iterator[Row]:
            yield from super().__iter__()
            raise StoreError("the disk is gone")

    run = made()
    with pytest.raises(StoreError, match="the disk is gone"):
        save(Run(run.manifest, run.metrics, Breaks(run.rows)), store)
    assert store.runs() == []
