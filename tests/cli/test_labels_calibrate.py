import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from starlette.requests import Request
from tests.viewing import serve_in_background

from ragstone import evaluate
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import set_judge
from ragstone.reports.viewer import Views
from ragstone.store import Store
from ragstone.types.label import HumanLabel

Command = Callable[..., Any]
PLACE = Path(".ragstone/ragstone.db")
TOWNS = ("Arden", "Belmont", "Corby", "Dorset", "Elston")


def write(name: str, *, other: int) -> None:
    """Write 50 answers; every `other`-th one is about something else."""
    rows = [
        {
            "id": f"q{n}",
            "query": f"How tall is tower {n}?",
            "response": "Penguins prefer fresh herring for breakfast."
            if n % other == 0
            else f"The tower number {n} of {TOWNS[n % 5]} is very tall.",
            "contexts": [f"The tower number {n} of {TOWNS[n % 5]} is very tall."],
            "reference": f"The tower number {n} of {TOWNS[n % 5]} is very tall.",
        }
        for n in range(50)
    ]
    Path(name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def add_labels(
    n: int, *, other: int = 4, wrong: int = 9, claim: int | None = 0, annotator: str = "ana"
) -> None:
    with Store.open(PLACE) as store:
        run = next(iter(store.runs())).id
        store.add_labels(
            run,
            [
                HumanLabel(
                    run=run,
                    position=place,
                    sample_id=f"q{place}",
                    metric="faithfulness",
                    claim=claim,
                    value=(place % other != 0) and place % wrong != 1,
                    annotator=annotator,
                    at=datetime.now(UTC),
                    blind=True,
                )
                for place in range(n)
            ],
        )


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are drawn in the order of the data."""

    def key(sample_id: str, _query: str) -> bytes:
        return int(sample_id.removeprefix("q")).to_bytes(4, "big")

    monkeypatch.setattr("ragstone.results.calibration.draw_key", key)


@pytest.fixture
def labelled(ragstone: Command) -> Command:
    """A run of 50 answers, 30 of them labelled."""
    write("a.jsonl", other=4)
    assert ragstone("run", "a.jsonl", "-m", "faithfulness", "--no-export").code == 0
    add_labels(30)
    return ragstone


def test_a_calibration_is_printed_and_saved(labelled: Command) -> None:
    said = labelled("labels", "calibrate", "last")
    assert said.code == 0, said.err
    assert "30 claims in 30 rows, labelled by ana" in said.out
    assert "Sensitivity: 100%" in said.out
    assert re.search(r"Specificity: 73% \(\d+% to \d+%\); 8 of 11 claims that people", said.out)
    assert re.search(r"Agreement: 90% \(7\d% to 9\d%\); 27 of 30 claims\n", said.out)
    assert re.search(r"Cohen's kappa: 0\.77 \(0\.\d\d to 0\.\d\d\)\n", said.out)
    assert "corrected (" in said.out
    assert "judge alone 0.74" in said.out
    assert "wrote .ragstone/calibrations/default.json" in said.out
    found = json.loads(labelled("labels", "calibrate", "last", "--name", "mine", "--json", "-").out)
    figures = found["metrics"]["faithfulness"]
    assert figures["table"]["both"] == 19
    assert figures["agreement"]["share"]["mean"] == 0.9
    assert figures["corrected"]["labels"] == 30
    assert Path(".ragstone/calibrations/mine.json").is_file()


def test_a_better_threshold_is_written_into_the_settings(ragstone: Command) -> None:
    """People reject every fourth answer, to which the judge gives a higher probability than 0.5."""
    rows = [
        {
            "query": f"How tall is tower {n}?",
            "response": f"The tower number {n} of {TOWNS[n % 5]} is very {end}.",
            "contexts": [f"The tower number {n} of {TOWNS[n % 5]} is very tall and old."],
        }
        for n in range(50)
        for end in ["tall" if n % 4 else "tall green glass"]
    ]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert ragstone("run", "a.jsonl", "-m", "faithfulness", "--no-export").code == 0
    add_labels(40, wrong=100)
    Path("ragstone.yaml").write_text("data: a.jsonl\n#judge: offline\nk: 3\n")
    said = ragstone("labels", "calibrate", "last", "--apply")
    assert said.code == 0, said.err
    assert "wrote ragstone.yaml: judge: offline,threshold=" in said.out
    data, judge, k = Path("ragstone.yaml").read_text().splitlines()
    assert (data, k) == ("data: a.jsonl", "k: 3")
    assert judge.startswith('judge: "offline,threshold=')
    assert ragstone("run", "-m", "faithfulness", "--no-export").code == 0
    assert judge[8:-1] in ragstone("runs", "show", "last", "-v").out


@pytest.mark.parametrize("text", ["judge: >-\n  offline\n", '"judge": offline\n'])
def test_a_judge_in_another_form_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ragstone.yaml").write_text(text)
    with pytest.raises(UsageError, match="sets the judge in another form; write judge: "):
        set_judge("offline,threshold=0.6")
    assert Path("ragstone.yaml").read_text() == text


def test_no_threshold_is_written_without_gain(labelled: Command) -> None:
    said = labelled("labels", "calibrate", "last", "--apply")
    assert said.code == 0, said.err
    assert "no threshold was applied: these labels show none that is better" in said.out
    assert not Path("ragstone.yaml").exists()


def test_unused_labels_of_whole_responses_are_noted(labelled: Command) -> None:
    assert labelled("labels", "calibrate", "last").err == ""
    add_labels(3, claim=None, annotator="ben")
    assert labelled("labels", "calibrate", "last").err == (
        "Note: not used: 3 labels of whole responses, by ben, because more rows have labels of "
        "claims\n"
    )


def test_a_run_without_labels_cannot_be_calibrated(ragstone: Command) -> None:
    write("a.jsonl", other=4)
    ragstone("run", "a.jsonl", "-m", "faithfulness", "--no-export")
    said = ragstone("labels", "calibrate", "last")
    assert (said.code, "has no labels" in said.err) == (2, True)


def test_reports_show_the_corrected_mean(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    files = {"html": "r.html", "json": "r.json", "markdown": "r.md", "junit": "r.xml"}
    named = [word for name, file in files.items() for word in (f"--{name}", file)]
    said = labelled("runs", "show", "last", "--calibration", "default", *named)
    assert said.code == 0, said.err
    assert "corrected with 30 labelled rows" in said.out
    assert "judge alone 0.74" in " ".join(said.out.split())
    found = json.loads(Path("r.json").read_text())["metrics"]["faithfulness"]["corrected"]
    assert found["interval"][0] < found["mean"] < found["interval"][1]
    for file in ("r.html", "r.md", "r.xml"):
        assert f"{found['mean']:.2f} corrected (" in Path(file).read_text(), file
    with Store.open(PLACE) as store:
        info = next(iter(store.runs()))
        request = Request({"type": "http", "path_params": {"run": info.id}, "query_string": b""})
        page = bytes(Views(store, "default").run(request).body).decode()
        assert f"{found['mean']:.2f} corrected (" in page
        run = info.id  # too few are left
        for label in store.labels(run):
            if label.position > 9:
                store.delete_label(run, label)
    labelled("labels", "calibrate", "last", "--name", "few")
    said = labelled("runs", "show", "last", "--calibration", "few", *named)
    assert "corrected with" not in said.out
    assert "calibration few decides no gate: it has 10 labelled rows" in said.out
    for file in ("r.html", "r.md", "r.xml"):
        words = Path(file).read_text()
        assert "10 labelled rows, calibration few" in words, file
        assert "calibration few decides no gate: it has 10 labelled rows" in words, file
    assert "calibrat" not in labelled("runs", "show", "last").out.replace("calibrated", "")


def test_gates_rest_on_the_corrected_mean(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    run = ("run", "a.jsonl", "-m", "faithfulness", "--no-export", "--calibration", "default")
    for threshold, code in (("0.1", 0), ("0.6", 3), ("0.9", 1)):
        gate = ("--fail-under", f"faithfulness={threshold}", "--gates-on", "corrected")
        said = labelled(*run, *gate)
        assert said.code == code, said.out + said.err
        assert ("so >= 0.6 is undecided: label " in said.err) == (code == 3)
        assert "rests on the offline judge" not in said.err
    assert json.loads(labelled("runs", "--json", "-").out)[0]["corrected"]
    again = labelled("runs", "show", "last", "--gates-on", "mean")
    assert (again.code, "is not >= 0.9" in again.out) == (1, True)


def test_labels_of_another_run_are_refused(
    labelled: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled("labels", "calibrate", "last", "--name", "mine")
    mine = json.loads(labelled("runs", "--json", "-").out)[0]["run_id"]
    write("b.jsonl", other=3)
    run = ("run", "b.jsonl", "-m", "faithfulness", "--no-export")
    gate = ("--fail-under", "faithfulness=0.3", "--gates-on", "corrected")
    other = (
        f"its labels are of run {mine} (a.jsonl), not of this run of b.jsonl; label 20 to 30 rows "
        "of this one with `ragstone labels start RUN --n 80`, and then use `ragstone labels "
        "calibrate RUN`"
    )
    refused = f"calibration mine decides no gate: {other}"
    said = labelled(*run, "--calibration", "mine", *gate)
    assert (said.code, refused in said.err) == (2, True), said.err
    with pytest.raises(UsageError, match=re.escape(refused)):
        evaluate(
            "b.jsonl",
            metrics="faithfulness",
            calibration="mine",
            gates_on="corrected",
            fail_under={"faithfulness": 0.3},
        )
    assert len(json.loads(labelled("runs", "--json", "-").out)) == 1  # nothing was evaluated
    assert labelled(*run, *gate[:2]).code == 0
    said = labelled("runs", "show", "last", "--calibration", "mine", *gate[2:], "--html", "r.html")
    assert said.code == 3
    # people support 19 of 30 labelled claims, and the judge 22; here the judge supports 33 of 50
    shifted = "0.66 would be 0.56 (unproven)"
    for text in (said.out, Path("r.html").read_text()):
        words = " ".join(text.split())
        assert "calibration mine does not apply: its labels are of run" in words
        assert f"if it errs as in the run of calibration mine, {shifted}" in words
        assert "corrected (" not in words
    assert labelled("resume", "last", "--retry-failed").code == 0


def test_labels_changed_since_the_calibration_need_another_one(labelled: Command) -> None:
    assert labelled("labels", "calibrate", "last").code == 0
    shown = ("runs", "show", "last", "--calibration", "default")
    assert labelled(*shown).code == 0
    add_labels(31)
    said = labelled(*shown)
    assert (said.code, "changed since the calibration default" in said.err) == (2, True)
    again = ("run", "a.jsonl", "-m", "faithfulness", "--calibration", "default", "--no-export")
    assert labelled(*again).code == 2
    assert labelled("labels", "calibrate", "last").code == 0
    assert labelled(*again).code == 0


def test_a_calibration_that_does_not_fit_decides_nothing(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    gate = ("--calibration", "default", "--fail-under", "faithfulness=0.2", "--gates-on")
    run = ("run", "a.jsonl", "-m", "faithfulness", "--no-export", *gate, "corrected")
    said = labelled(*run, "--policy", "deepeval")
    assert said.code == 3
    assert "it is for faithfulness, with another policy" in said.err
    add_labels(0)
    said = labelled("run", "a.jsonl", "-m", "faithfulness", "--calibration", "gone")
    assert (said.code, "there is no calibration 'gone'" in said.err) == (2, True)
    said = labelled("runs", "show", "last", "--gates-on", "corrected", "--store", PLACE.name)
    assert said.code == 2
    said = labelled("run", "a.jsonl", "-m", "faithfulness", *gate[2:], "corrected")
    assert (said.code, "needs calibration=NAME" in said.err) == (2, True)


def test_compare_corrects_the_difference_of_labelled_runs(labelled: Command) -> None:
    write("b.jsonl", other=3)
    labelled("run", "b.jsonl", "-m", "faithfulness", "--no-export")
    runs = [entry["run_id"] for entry in json.loads(labelled("runs", "--json", "-").out)]
    gate = ("--gates-on", "corrected", "--fail-on-regression")
    said = labelled("compare", *runs[::-1], *gate)
    assert (said.code, "no row is labelled" in said.err) == (3, True)
    with serve_in_background(PLACE) as url:  # the page follows new labels
        page = f"{url}/compare?a={runs[1]}&b={runs[0]}"
        assert "no row is labelled" in urlopen(page).read().decode()
        add_labels(30, other=3)
        assert "corrected with labels (" in urlopen(page).read().decode()
    said = labelled("compare", *runs[::-1], *gate, "--json", "c.json", "--markdown", "c.md")
    assert said.code in (0, 1), said.err
    assert "corrected with labels" in said.out
    assert "corrected with labels" in Path("c.md").read_text()
    found = json.loads(Path("c.json").read_text())["metrics"]["faithfulness"]["corrected"]
    assert found["labels"] == [30, 30]


def test_metrics_without_a_judge_keep_their_test(ragstone: Command) -> None:
    for name, other in (("a.jsonl", 50), ("b.jsonl", 3)):
        write(name, other=other)
        metrics = ("-m", "faithfulness", "-m", "exact_match")
        assert ragstone("run", name, *metrics, "--no-export").code == 0
        add_labels(30, other=2)
    gate = ("--gates-on", "corrected", "--fail-on-regression")
    runs = [entry["run_id"] for entry in json.loads(ragstone("runs", "--json", "-").out)][::-1]
    said = ragstone("compare", *runs, *gate)
    assert (said.code, "REGRESSION: exact_match -0." in said.out) == (1, True), said.err
    said = ragstone("compare", *runs, *gate, "-m", "exact_match")
    assert (said.code, "no compared metric is judged" in said.err) == (3, True)


def test_python_takes_a_calibration(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    run = evaluate(
        "a.jsonl",
        metrics="faithfulness",
        calibration="default",
        gates_on="corrected",
        fail_under={"faithfulness": 0.3},
        config={"max_age": 30},
    )
    found = run.summary()["faithfulness"].corrected
    assert found is not None
    assert (found.labels, found.problem) == (30, None)
    assert run.gates()[0].value == found.mean
    assert f'<td class="number">{found.mean:.2f}</td>' in run._repr_html_()
    assert "judge alone 0.74" in run._repr_html_()
