import json
import re
from pathlib import Path

import openpyxl
from tests.cli.conftest import Command

from ragstone import demo
from ragstone.demo.questions import corpus
from ragstone.evaluation.labelling import plan_labels, read_claims
from ragstone.store import Store, find_run


def test_the_demo_prints_the_table_and_writes_a_workbook(ragstone: Command, tmp_path: Path) -> None:
    said = ragstone("demo")
    assert said.code == 0, said.err
    for name in ("hit@5", "faithfulness"):
        assert name in said.out
    (path,) = (tmp_path / "results").glob("evaluation_k5_*.xlsx")
    assert openpyxl.load_workbook(path).sheetnames == ["Questions", "Summary", "Claims"]


def test_the_demo_can_be_short_and_leave_nothing(ragstone: Command, tmp_path: Path) -> None:
    said = ragstone("demo", "--limit", "3", "--no-export", "--no-store", "-v")
    assert said.code == 0
    assert not list(tmp_path.iterdir())


def test_options_of_the_server_need_a_server(ragstone: Command, tmp_path: Path) -> None:
    said = ragstone("demo", "--port", "0", "--manuals", "manuals")
    assert said.refuses("--port, --manuals: only with --serve")
    assert not list(tmp_path.iterdir())


def test_two_demos_are_stored_and_can_be_compared(ragstone: Command) -> None:
    for retriever in ("good", "worse"):
        assert ragstone("demo", "--no-export", "--retriever", retriever, "--limit", "40").code == 0
    b, a = (run["run_id"] for run in json.loads(ragstone("runs", "--json", "-").out))
    said = ragstone("compare", a, b, "--fail-on-regression", "--json", "-")
    assert said.code == 1, said.err
    (change,) = json.loads(said.out)["changes"]  # another port is no change
    assert change["name"] == "target"
    assert (change["a"], change["b"]) == ("demo, good retriever", "demo, worse retriever")


def test_the_seeds_own_command_writes_the_texts_that_context_precision_graded(
    ragstone: Command, demo_url: str, tmp_path: Path
) -> None:
    data = Path(demo.__file__).with_name("qr_smartphone_dataset.xlsx")
    said = ragstone(
        *("--metric", "context_precision", "--k", "5", "--limit", "3", "--test-data", str(data)),
        *("--api-url", demo_url, "--rows", "rows.jsonl"),
    )
    assert said.code == 0, said.err
    (path,) = (tmp_path / "results").glob("Context Precision_k5_*.xlsx")
    head, *rows = openpyxl.load_workbook(path)["Per-Query Results"].iter_rows(values_only=True)
    shown = [dict(zip(head, row, strict=True))["retrieved_contexts"] for row in rows]
    lines = (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    searched = [[each["text"] for each in json.loads(line)["ranking"]] for line in lines]
    assert shown == ["\n---\n".join(texts) for texts in searched]
    assert all(map(str.strip, shown))


def test_the_labels_of_the_demo_can_be_imported(ragstone: Command) -> None:
    docs = Path(__file__).parents[2] / "docs"
    imported = ("labels", "import", str(docs / "tutorials/demo-labels.csv"), "--run", "last")
    ragstone("demo", "--no-export", "--rows", "answers.jsonl")
    told = ragstone(*imported)
    assert (told.code, told.out.startswith("imported 58 labels")) == (0, True), told.err
    with Store.open() as store:
        run_id = find_run(store, "last")
        run, labels = store.load(run_id), store.labels(run_id)
        plan = plan_labels(read_claims(store, run_id), "faithfulness", labels=20)
    assert {label.position for label in labels} == {row.position for row in plan.rows}
    assert all(label.blind for label in labels)
    wrong = [line.spoken for passage in corpus() for line in passage.lines if line.error]
    for label in labels:
        assert label.claim is not None
        claim = run.rows[label.position].scores["faithfulness"].claims[label.claim].text
        assert label.value is not any(line in claim for line in wrong), claim
    calibrate = ("labels", "calibrate", "last", "--name", "demo")
    shown = ragstone(*calibrate).out
    gate = ("--fail-under", "faithfulness=0.8")
    assert ragstone("run", "answers.jsonl", "-m", "faithfulness", "--no-export", *gate).code == 0
    assert ragstone(*imported).code == 0
    shown += ragstone(*calibrate).out
    gates = ("--calibration", "demo", "--gates-on", "corrected", "-v")
    said = ragstone("runs", "show", "last", *gates)
    assert said.code == 3
    shown += said.out
    words = " ".join(shown.split())
    page = Path(__file__).parents[2] / "docs/labels-and-correction.md"
    begins = "(text)?\n(faithfulness, judge|58 claims|Corrected {7})"
    [example] = [b for b in page.read_text().split("\n```") if re.match(begins, b)]
    for line in example.split("\n"):
        assert " ".join(line.split()).removeprefix("text") in words, line
