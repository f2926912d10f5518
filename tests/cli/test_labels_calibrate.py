import json
import re
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from starlette.requests import Request
from tests.cases import each_case
from tests.cli.collected import json_lines, label
from tests.cli.conftest import Command, Said
from tests.viewing import serve_in_background

from ragstone import evaluate
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import set_judge
from ragstone.reports.viewer import Views
from ragstone.store import Store

PLACE = Path(".ragstone/ragstone.db")
CALIBRATED = {
    "calibration": "default",
    "gates_on": "corrected",
    "fail_under": {"faithfulness": 0.3},
}
TOWNS = ("Arden", "Belmont", "Corby", "Dorset", "Elston")


def write(name: str, *, other: int) -> None:
    """Write 50 answers; every `other`-th one is about something else."""
    rows = []
    for n in range(50):
        said = f"The tower number {n} of {TOWNS[n % 5]} is very tall."
        response = said if n % other else "Penguins prefer fresh herring for breakfast."
        row = {"id": f"q{n}", "query": f"How tall is tower {n}?", "response": response}
        rows.append(row | {"contexts": [said], "reference": said})
    json_lines(name, rows)


def evaluated(ragstone: Command, name: str, *words: str, code: int = 0) -> Said:
    """Evaluate a file by faithfulness."""
    said = ragstone("run", name, "-m", "faithfulness", "--no-export", *words)
    assert said.code == code, said.out + said.err
    return said


def run_ids(ragstone: Command) -> list[str]:
    return [entry["run_id"] for entry in json.loads(ragstone("runs", "--json", "-").out)]


def add_labels(n: int, *, other: int = 4, wrong: int = 9, **changed: Any) -> None:
    with Store.open(PLACE) as store:
        run = next(iter(store.runs())).id
        values = [(place % other != 0) and place % wrong != 1 for place in range(n)]
        given = {"claim": 0} | changed
        store.add_labels(run, [label(run, n, value=yes, **given) for n, yes in enumerate(values)])


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
    evaluated(ragstone, "a.jsonl")
    assert ragstone("labels", "calibrate", "last").refuses("has no labels")
    add_labels(30)
    return ragstone


def test_a_calibration_is_printed_and_saved(labelled: Command) -> None:
    said = labelled("labels", "calibrate", "last")
    assert (said.code, said.err) == (0, "")
    assert "30 claims in 30 rows, labelled by ana" in said.out
    assert re.search(r"Specificity: 73% \(\d+% to \d+%\); 8 of 11 claims that people", said.out)
    assert re.search(r"Agreement: 90% \(7\d% to 9\d%\); 27 of 30 claims\n", said.out)
    assert re.search(r"Cohen's kappa: 0\.77 \(0\.\d\d to 0\.\d\d\)\n", said.out)
    assert "judge alone 0.74" in said.out
    add_labels(3, claim=None, annotator="ben")
    said = labelled("labels", "calibrate", "last", "--name", "mine", "--json", "-", "--apply")
    assert "no threshold was applied: these labels show none that is better" in said.err
    assert not Path("ragstone.yaml").exists()
    unused = "not used: 3 labels of whole responses, by ben, because more rows have labels of"
    assert unused in said.err
    found = json.loads(said.out)
    figures = found["metrics"]["faithfulness"]
    assert figures["table"]["both"] == 19
    assert figures["corrected"]["labels"] == 30
    assert Path(".ragstone/calibrations/mine.json").is_file()


def test_a_better_threshold_is_written_into_the_settings(ragstone: Command) -> None:
    """People reject every fourth answer, to which the judge gives a higher probability than 0.5."""
    rows = []
    for n in range(50):
        town = f"The tower number {n} of {TOWNS[n % 5]} is very"
        response = f"{town} tall." if n % 4 else f"{town} tall green glass."
        row = {"query": f"How tall is tower {n}?", "response": response}
        rows.append(row | {"contexts": [f"{town} tall and old."]})
    evaluated(ragstone, json_lines("a.jsonl", rows))
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


@each_case("text", ["judge: >-\n  offline\n", '"judge": offline\n'])
def test_a_judge_in_another_form_is_left_alone(tmp_path: Path, monkeypatch, text: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ragstone.yaml").write_text(text)
    with pytest.raises(UsageError, match="sets the judge in another form; write judge: "):
        set_judge("offline,threshold=0.6")
    assert Path("ragstone.yaml").read_text() == text


def test_reports_show_the_corrected_mean(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    words = "--html r.html --json r.json --markdown r.md --junit r.xml".split()
    said = labelled("runs", "show", "last", "--calibration", "default", *words)
    assert said.code == 0, said.err
    assert "judge alone 0.74" in " ".join(said.out.split())
    found = json.loads(Path("r.json").read_text())["metrics"]["faithfulness"]["corrected"]
    assert found["interval"][0] < found["mean"] < found["interval"][1]
    for file in ("r.html", "r.md", "r.xml"):
        assert f"{found['mean']:.2f} corrected (" in Path(file).read_text(), file
    with Store.open(PLACE) as store:
        run = next(iter(store.runs())).id
        request = Request({"type": "http", "path_params": {"run": run}, "query_string": b""})
        page = bytes(Views(store, "default").run(request).body).decode()
        assert f"{found['mean']:.2f} corrected (" in page
        for label in store.labels(run)[10:]:
            store.delete_label(run, label)
    labelled("labels", "calibrate", "last", "--name", "few")
    said = labelled("runs", "show", "last", "--calibration", "few", *words)
    for text in (said.out, *(Path(file).read_text() for file in ("r.html", "r.md", "r.xml"))):
        assert "calibration few decides no gate: it has 10 labelled rows" in text


def test_gates_rest_on_the_corrected_mean(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    calibrated = ("--calibration", "default", "--gates-on", "corrected", "--fail-under")
    for threshold, code in (("0.1", 0), ("0.6", 3), ("0.9", 1)):
        gate = f"faithfulness={threshold}"
        said = evaluated(labelled, "a.jsonl", *calibrated, gate, code=code)
        assert ("so >= 0.6 is undecided: label " in said.err) == (code == 3)
    again = labelled("runs", "show", "last", "--gates-on", "mean")
    assert (again.code, "is not >= 0.9" in again.out) == (1, True)
    run = evaluate("a.jsonl", metrics="faithfulness", **CALIBRATED, config={"max_age": 30})
    found = run.summary()["faithfulness"].corrected
    assert (found.labels, found.problem) == (30, None)
    assert run.gates()[0].value == found.mean
    assert f'<td class="number">{found.mean:.2f}</td>' in run._repr_html_()


def test_labels_of_another_run_are_refused(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    (mine,) = run_ids(labelled)
    write("b.jsonl", other=3)
    gate = ("--calibration", "default", "--gates-on", "corrected")
    refused = f"calibration default decides no gate: its labels are of run {mine} (a.jsonl), not"
    said = evaluated(labelled, "b.jsonl", *gate, "--fail-under", "faithfulness=0.3", code=2)
    assert refused in said.err
    with pytest.raises(UsageError, match=re.escape(refused)):
        evaluate("b.jsonl", metrics="faithfulness", **CALIBRATED)
    assert run_ids(labelled) == [mine]  # nothing was evaluated
    evaluated(labelled, "b.jsonl", "--fail-under", "faithfulness=0.3")
    said = labelled("runs", "show", "last", *gate, "--html", "r.html")
    assert said.code == 3
    # people support 19 of 30 labelled claims, and the judge 22; here the judge supports 33 of 50
    shifted = "0.66 would be 0.56 (unproven)"
    for text in (said.out, Path("r.html").read_text()):
        words = " ".join(text.split())
        assert "calibration default does not apply: its labels are of run" in words
        assert f"if it errs as in the run of calibration default, {shifted}" in words


def test_a_calibration_that_does_not_fit_decides_nothing(labelled: Command) -> None:
    labelled("labels", "calibrate", "last")
    gate = ("--fail-under", "faithfulness=0.2", "--gates-on", "corrected")
    words = ("--calibration", "default", *gate, "--policy", "deepeval")
    said = evaluated(labelled, "a.jsonl", *words, code=3)
    assert "it is for faithfulness, with another policy" in said.err
    said = evaluated(labelled, "a.jsonl", "--calibration", "gone", code=2)
    assert "there is no calibration 'gone'" in said.err
    assert "needs calibration=NAME" in evaluated(labelled, "a.jsonl", *gate, code=2).err


def test_labels_changed_since_the_calibration_need_another_one(labelled: Command) -> None:
    assert labelled("labels", "calibrate", "last").code == 0
    add_labels(31)
    said = labelled("runs", "show", "last", "--calibration", "default")
    assert said.refuses("changed since the calibration default")
    assert labelled("labels", "calibrate", "last").code == 0
    evaluated(labelled, "a.jsonl", "--calibration", "default")


def test_compare_corrects_the_difference_of_labelled_runs(labelled: Command) -> None:
    write("b.jsonl", other=3)
    evaluated(labelled, "b.jsonl")
    b, a = run_ids(labelled)
    gate = ("--gates-on", "corrected", "--fail-on-regression")
    said = labelled("compare", a, b, *gate)
    assert (said.code, "no row is labelled" in said.err) == (3, True)
    with serve_in_background(PLACE) as url:  # the page follows new labels
        page = f"{url}/compare?a={a}&b={b}"
        assert "no row is labelled" in urlopen(page).read().decode()
        add_labels(30, other=3)
        assert "corrected with labels (" in urlopen(page).read().decode()
    said = labelled("compare", a, b, *gate, "--json", "c.json", "--markdown", "c.md")
    assert said.code in (0, 1), said.err
    assert "corrected with labels" in Path("c.md").read_text()
    found = json.loads(Path("c.json").read_text())["metrics"]["faithfulness"]["corrected"]
    assert found["labels"] == [30, 30]
