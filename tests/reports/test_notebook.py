"""What `Run` and `Comparison` offer in Python and in notebooks: frames, files, HTML."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from lxml import html
from tests.reports.conftest import MakeRun, sample
from tests.reports.ranked import ranked_run
from tests.results.conftest import Runs

import ragstone
from ragstone._internal import notebook as progress
from ragstone.errors import Cause
from ragstone.reports.notebook import MAX_ROWS
from ragstone.results.comparison import compare
from ragstone.results.run import Run
from ragstone.store import Store
from ragstone.types.gate import Gate
from ragstone.types.score import Score

LIMIT = 60_000
"""Bytes of what a notebook shows for a run or a comparison."""


def test_a_run_is_a_frame_with_nulls_for_missing_scores(make_run: MakeRun) -> None:
    frame = make_run().to_polars(details=True)
    values = frame["faithfulness"]
    assert values.dtype == pl.Float64
    assert values.to_list() == [0.5, 0.0, None, None]
    assert not values.is_nan().any()
    found = frame.select(f"scores.faithfulness.{name}" for name in ("state", "cause", "reason"))
    assert found.rows()[2:] == [
        ("undefined", None, "the response makes no claims"),
        ("failed", "timeout", "no answer within 30 s"),
    ]
    assert frame["id"].to_list() == ["q1", "q2", "q3", "q4"]
    assert frame["difficulty"].to_list() == ["easy"] * 4
    claims = make_run().to_polars(claims=True).select("id", "label").rows()
    assert claims == [("q1", "SUPPORTED"), ("q1", "CONTRADICTED"), ("q2", "CONTRADICTED")]


def test_a_ranking_is_a_frame() -> None:
    run = ranked_run(4)
    assert run.to_polars().rows() == [
        ("q0", "q0", None, None),
        ("q1", "q1", 0.0, None),
        ("q2", "what?", 0.0, 0.5),
        ("q3", "q3", 1.0, 0.75),
    ]
    assert "4 rows of" in run._repr_html_()


def test_a_missing_library_is_named(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, convert in (("pandas", Run.to_pandas), ("polars", Run.to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ragstone.UsageError, match=f"not installed: pip install {name}"):
            convert(make_run())


def test_reports_are_checked_before_one_is_written(make_run: MakeRun, tmp_path: Path) -> None:
    good = tmp_path / "a.html"
    cases: list[tuple[dict[str, Path], str]] = [
        ({}, "name at least one file: html=, excel=, markdown=, junit="),
        ({"html": good, "markdown": good}, "two reports have the same file"),
        ({"html": good, "excel": tmp_path / "b.csv"}, "does not end in .xlsx"),
        ({"html": good, "junit": tmp_path}, "is a folder"),
    ]
    for files, message in cases:
        with pytest.raises(ragstone.UsageError, match=re.escape(message)):
            make_run().report(**files)
    assert list(tmp_path.iterdir()) == []
    names = {"html": "a.html", "excel": "b.xlsx", "markdown": "c.md", "junit": "d.xml"}
    files = {kind: tmp_path / "new" / name for kind, name in names.items()}
    paths = make_run(asked=["faithfulness"], names=["faithfulness"]).report(**files)
    assert paths == tuple(files.values())
    assert all(path.stat().st_size for path in paths)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, str], dict[str, object]]]:
    """Return what is published; IPython is not installed everywhere."""
    shown: list[tuple[dict[str, str], dict[str, object]]] = []
    publisher = SimpleNamespace(publish=lambda data, **options: shown.append((data, options)))
    shell = SimpleNamespace(kernel=None, display_pub=publisher)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    return shown


def test_a_report_is_shown_in_a_frame_of_a_notebook_or_written(
    make_run: MakeRun,
    notebook: list[tuple[dict[str, str], dict[str, object]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_run().show()
    [(data, _)] = notebook
    frame = html.fromstring(data["text/html"])
    assert (frame.tag, frame.get("sandbox")) == ("iframe", "allow-scripts")
    assert "qr.xlsx" in frame.get("srcdoc")
    assert data["text/plain"].startswith("<Run 20260301")
    monkeypatch.delitem(sys.modules, "IPython")
    monkeypatch.chdir(tmp_path)
    make_run().show()
    make_run().show("x.html")
    name = "ragstone-20260301-123005-abc123.html"
    assert capsys.readouterr().out == f"wrote {name}\nwrote x.html\n"
    assert Path(name).read_text("utf-8").startswith("<!doctype html>")


def test_a_notebook_shows_progress_unless_the_caller_does(
    notebook: list[tuple[dict[str, str], dict[str, object]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_UPDATES", 0.0)  # shorter runs show none
    rows = [{"query": f"q{number}", "response": "a", "reference": "a"} for number in range(5)]
    ragstone.evaluate(rows, metrics="exact_match")
    data, options = notebook[-1]
    assert data["text/plain"].startswith("5 of 5 rows evaluated in ")
    assert "<progress value=" in data["text/html"]
    assert len({str(each["transient"]) for _, each in notebook}) == 1
    assert options["update"] is (len(notebook) > 1)
    notebook.clear()
    ragstone.evaluate(rows, metrics="exact_match", on_progress=lambda *_: None)
    assert notebook == []


def test_a_run_is_displayed_with_intervals_gates_and_the_worst_samples(make_run: MakeRun) -> None:
    run = make_run(gates=[Gate(metric="faithfulness", op=">=", threshold=0.8)])
    found = run._repr_html_()
    text = " ".join(html.fromstring(found).text_content().split())
    words = (
        *("4 rows of qr.xlsx", "✗ 1 of 1 gate failed: faithfulness 0.2500 is not >= 0.8"),
        *("not supported", "metricmean", "Worst by faithfulness"),
        "contradicted: It charges in 60 minutes. (The context says 75 minutes.)",
    )
    places = [text.find(each) for each in words]
    assert min(places) >= 0
    assert places[1] < places[2] < places[3] < places[4], "the verdict, the outcomes, the metrics"
    cells = {
        row.findtext("th"): [cell.text for cell in row.findall("td")]
        for row in html.fromstring(found).iter("tr")
    }
    assert cells["faithfulness"][0] == "0.25"
    assert cells["faithfulness"][-1] == "2 of 4 rows, 1 failed"
    assert found.count('<svg class="gauge"') == 2, "f1@5 cannot reach 1"
    assert "0 rows of" in make_run([])._repr_html_()


def test_a_comparison_is_displayed_with_its_verdict_and_drops() -> None:
    a = Runs.of({"faithfulness": [0.9, 0.8, 0.95, 0.85] * 5}, run_id="one")
    b = Runs.of({"faithfulness": [0.1 * (n % 3) for n in range(20)]}, run_id="two")
    comparison = ragstone.compare(a, b)
    start = "<Comparison one to two: 20 pairs; Worse: faithfulness 0.875"
    assert repr(comparison).startswith(start)
    text = " ".join(html.fromstring(comparison._repr_html_()).text_content().split())
    verdict = "Worse: faithfulness 0.875 → 0.095"
    for words in ("A data.xlsx (one) to B data.xlsx (two)", verdict, "worse", "Largest drops"):
        assert words in text
    with pytest.raises(ragstone.UsageError, match="a and b are the same run, one"):
        ragstone.compare(a, a)


def test_a_display_is_short_and_harmless(
    make_run: MakeRun, hostile_run: Callable[[str], Run]
) -> None:
    script = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'</style>" * 200
    for attack in (script, '"' * 9000, "\N{COLLISION SYMBOL}" * 9000):
        run, other = hostile_run(attack), hostile_run("<b>&" * 2000)
        many = {f"{attack[:300]}{n}": make_run().metrics["f1@5"] for n in range(60)}
        scores = dict.fromkeys(many, Score.failed(Cause.METRIC_ERROR, attack))
        scored = dict.fromkeys(many, Score.scored(1 / 3))
        rows = [
            ragstone.Row(place, sample(place, id=f"{attack}{place}", query=attack), scores=each)
            for place, each in enumerate((scored, scores))
        ]
        gates = [Gate(metric=name, op=">=", threshold=0.5) for name in many]
        manifest = make_run(gates=gates, max_failure_rate=0.0).manifest
        wide = Run(manifest=manifest, metrics=many, rows=rows, partial=True)
        shown = [
            each._repr_html_() for each in (run, wide, compare(run, other), compare(wide, wide))
        ]
        for each in shown:
            assert len(each.encode()) < LIMIT
            tree = html.fromstring(each)
            assert {element.tag for element in tree.iter()}.isdisjoint({"script", "img", "b"})
            names = [name for element in tree.iter() for name in element.attrib]
            assert not [name for name in names if name.startswith("on")]
        assert f"and {60 - MAX_ROWS} more metrics" in shown[1]


def test_stored_runs_are_compared_by_name(tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    rows = [{"query": f"q{n}", "response": "a", "reference": "ab"[n % 2]} for n in range(8)]
    first = ragstone.evaluate(rows, metrics="exact_match", store=place)
    rows = [{**row, "response": row["reference"]} for row in rows]
    second = ragstone.evaluate(rows, metrics="exact_match", store=place)
    found = ragstone.compare(first.manifest.run_id, "last", store=place, metrics="exact_match")
    assert found.b == second.manifest.run_id
    assert found.metric_changes[0].difference == 0.5
    assert found == ragstone.compare(first, second)
    with Store.open(place) as store:
        loaded = store.load(first.manifest.run_id)
        assert ragstone.compare(loaded, second, store=store).metric_changes == found.metric_changes
    assert loaded.to_polars()["exact_match"].to_list() == [1, 0] * 4
    for store, words in ((place, "baseline"), (tmp_path / "none.db", "none.db")):
        with pytest.raises(ragstone.RagstoneError, match=re.escape(words)):
            ragstone.compare("baseline", "last", store=store)
