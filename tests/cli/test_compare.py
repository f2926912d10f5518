import asyncio
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cases import add_run, each_case
from tests.cli.collected import json_lines
from tests.cli.conftest import Command

from ragstone.metrics import get
from ragstone.store import Store, tag
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

PLACE = Path(".ragstone/ragstone.db")


def put(store: Store, run_id: str, values: Sequence[float | None], **changed: Any) -> None:
    """Store a run of `faithfulness` whose samples have one claim each, started in this order."""
    manifest = Manifest(
        run_id=run_id,
        version="0.1.0",
        started_at=datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=len(store.runs())),
        plan=Plan(),
        source=Source(name="data.xlsx", rows=len(values), path=changed.get("path")),
        judge=changed.get("judge", "offline"),
        judge_note=None,
        target=None,
        not_run={},
    )
    add_run(store, manifest, {"faithfulness": get("faithfulness").described}, fingerprint="")

    async def write() -> None:
        async with store.open_writer(run_id) as writer:
            for place, value in enumerate(values):
                await writer.put(Row(place, sample(place, changed), scores=scores(value)))

    asyncio.run(write())
    store.finish(run_id, extras={}, partial=changed.get("partial", False))


def sample(place: int, changed: dict[str, Any]) -> Sample:
    query = f"{changed.get('query', 'Why')} {place}? \ud83d"  # half an emoji, as data may hold
    return Sample(id=f"q{place}", query=query, tags={"source": f"s{place // 4}"})


def scores(value: float | None) -> dict[str, Score]:
    if value is None:
        return {"faithfulness": Score.undefined("no claims")}
    label = Label.SUPPORTED if value > 0.5 else Label.CONTRADICTED
    claim = JudgedClaim(
        text="It floats.", span=None, label=label, reason="why", confidence=None, evidence=()
    )
    return {"faithfulness": Score.scored(value, claims=[claim])}


@pytest.fixture
def stored(ragstone: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Two finished runs, the newer one worse, in the store of this folder."""
    monkeypatch.delenv("RAGSTONE_STORE", raising=False)
    with Store.open(PLACE) as store:
        put(store, "run-a", [1.0] * 12)
        put(store, "run-b", [0.8] * 12)
        tag(store, "run-a", "baseline")
    return ragstone


def test_a_baseline_is_compared_with_the_newest_finished_run(stored: Command) -> None:
    said = stored("compare", "baseline")
    assert said.code == 0
    assert said.out.startswith(
        "Worse: faithfulness 1.000 → 0.800, -0.200; of 12 questions, 0 better and 12 worse\n"
        "Judge: offline; this judge is untested\n"
        "A: baseline; B: data.xlsx; 12 pairs\n"
    )


def test_an_unfinished_run_is_not_the_newest_finished(stored: Command) -> None:
    with Store.open(PLACE) as store:
        put(store, "run-c", [1.0], partial=True)
    assert "Worse" in stored("compare", "baseline").out
    assert "run run-c stopped early" in stored("compare", "baseline", "run-c").out


@each_case(
    ("runs", "flags", "code", "verdict"),
    [
        ("run-a run-b", "", 0, None),
        ("run-a run-b", "--fail-on-regression", 1, "REGRESSION: faithfulness -0.2000"),
        ("run-a run-b", "--fail-on-regression --min-effect 0.19", 1, "REGRESSION: faithfulness"),
        ("run-a run-b", "--fail-on-regression --min-effect 20%", 0, "drops within min_effect: fai"),
        ("run-a run-b", "--fail-on-regression --cluster source", 0, "no regression"),  # 3 sources
    ],
)
def test_a_regression_fails_only_where_that_is_asked_for(stored, runs, flags, code: int, verdict):
    said = stored("compare", *runs.split(), *flags.split(), "--json", "c.json")
    assert said.code == code
    last = said.out.splitlines()[-1]
    assert last.startswith(verdict) if verdict else "regression" not in said.out.lower(), last


def test_several_runs_are_one_table(stored: Command) -> None:
    with Store.open(PLACE) as store:
        put(store, "run-c", [0.9] * 12)
    files = ("--html", "x.html", "-o", "x.xlsx", "--rows", "x.parquet", "--latex", "x.tex")
    runs = ("baseline", "run-b", "run-c", "--fail-on-regression", "-v")
    said = stored("compare", *runs, "--json", "x.json", *files)
    assert said.code == 1
    assert re.search(r"a  baseline +1\.000\*ᵇᶜ *\nb  data\.xlsx \(run-b\) +0\.800 *\n", said.out)
    assert "data.xlsx (run-c): REGRESSION: faithfulness -0.1000" in said.out
    assert all(Path(name).exists() for name in files[1::2])
    found = json.loads(Path("x.json").read_text())
    assert [each["b"] for each in found["comparisons"]] == ["run-b", "run-c"]


def test_runs_without_common_samples_are_refused(stored: Command) -> None:
    with Store.open(PLACE) as store:
        put(store, "run-c", [1.0] * 12, query="When")
    said = stored("compare", "run-a", "run-c", "--json", "-")
    assert said.refuses("runs run-a and run-c have no samples in common")
    assert said.out == ""


def test_what_cannot_be_told_is_no_pass(stored: Command) -> None:
    with Store.open(PLACE) as store:
        put(store, "nothing", [None] * 12)
        put(store, "few", [1.0] * 10)
    assert stored("compare", "run-a", "nothing").code == 0
    assert stored("compare", "run-a", "nothing", "--fail-on-regression").code == 3
    few = stored("compare", "run-a", "few", "--fail-on-regression", "--json", "c.json")
    assert (few.code, "no regression" in few.out) == (3, False)
    assert "Exit code 3: no verdict, because only 10 of 12 samples of A (83%)" in few.err
    few = stored("compare", "run-a", "few", "--fail-on-regression", "--min-paired", "0.8")
    assert few.code == 0


def test_the_data_of_a_run_are_not_written_over(stored: Command) -> None:
    with Store.open(PLACE) as store:
        put(store, "run-c", [1.0] * 12, path="data.jsonl")
    said = stored("compare", "run-a", "run-c", "--json", "data.jsonl")
    assert said.refuses("data.jsonl is an input file, so it cannot be written")
    assert not Path("data.jsonl").exists()


@each_case(
    ("arguments", "words"),
    [
        ("nothing", "there is no run named 'nothing'"),
        ("run-b", "A is the newest finished run, run-b; specify B"),
        ("run-a baseline", "two of the runs are the same, run-a"),
        ("run-a run-b --cluster sources", "did you mean 'source'"),
        ("run-a --store nowhere.db", "there is no store at nowhere.db"),
    ],
)
def test_what_cannot_be_done_is_told_with_exit_code_2(stored, arguments: str, words: str) -> None:
    assert stored("compare", *arguments.split()).refuses(words)


GOOD, BAD = "The tower is 70 m high.", "The tower is 99 m high."


def write_answers(wrong: int) -> None:
    rows = []
    for n in range(40):
        row = {"id": str(n), "query": f"How high is tower {n}?", "contexts": [f"Tower {n}. {GOOD}"]}
        rows.append(row | {"response": BAD if n < wrong else GOOD})
    json_lines("answers.jsonl", rows)


@pytest.fixture
def baseline(ragstone: Command) -> None:
    write_answers(2)
    assert ragstone("run", "answers.jsonl", "-m", "faithfulness", "--no-export").code == 0
    assert ragstone("runs", "tag", "last", "good").code == 0


NIGHT = ("-m", "faithfulness", "--no-export", "--baseline", "good", "--fail-on-regression")


@pytest.mark.usefixtures("baseline")
def test_a_night_that_is_worse_fails_and_the_finding_is_the_title(ragstone: Command) -> None:
    write_answers(3)
    said = ragstone("run", "answers.jsonl", *NIGHT)
    assert said.code == 0, said.err
    assert "No difference shown: faithfulness" in said.out
    write_answers(20)
    said = ragstone("run", "answers.jsonl", *NIGHT, "--markdown", "night.md")
    assert said.code == 1
    assert "REGRESSION: faithfulness -0.4500" in said.out
    assert said.out.startswith("Worse: faithfulness 0.950 → 0.500")
    text = Path("night.md").read_text(encoding="utf-8")
    assert text.startswith("## Worse: faithfulness 0.950 → 0.500")
    rows = [{"query": f"Other {n}?", "response": GOOD, "contexts": [GOOD]} for n in range(5)]
    said = ragstone("run", json_lines("other.jsonl", rows), *NIGHT)
    assert said.code == 3
    assert "no samples in common" in said.err


def test_a_baseline_is_found_before_the_first_call(ragstone: Command) -> None:
    write_answers(2)
    assert ragstone("run", "answers.jsonl", *NIGHT).code == 2
    assert not Path(".ragstone").exists()
    assert ragstone("run", "answers.jsonl", "--fail-on-regression").refuses("--baseline RUN")
