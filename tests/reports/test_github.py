import io
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.errors import InputError, Problem, UsageError
from ragstone.reports.markdown import (
    MAX_ANNOTATIONS,
    SUMMARY_BYTES,
    annotation,
    error_annotation,
    no_commands,
    report_to_github,
    run_as_markdown,
)
from ragstone.results.run import Run
from ragstone.types.gate import Gate

MakeRun = Callable[..., Run]
FAILED = Gate(metric="faithfulness", op=">=", threshold=0.8)
ON = {"GITHUB_ACTIONS": "true"}


def test_elsewhere_nothing_is_done(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert report_to_github(make_run(gates=[FAILED]), {"GITHUB_STEP_SUMMARY": str(path)}) == ()
    assert not path.exists()


def test_gates_that_failed_are_errors_and_what_was_not_judged_is_a_warning(
    make_run: MakeRun,
) -> None:
    assert report_to_github(make_run(gates=[FAILED]), ON) == (
        "::error title=gate failed::faithfulness 0.2500 is not >= 0.8 (2 of 4 scored)",
        (
            "::warning title=missing scores::faithfulness: 1 of 4 scores failed: "
            "timed out (1, first q4: no answer within 30 s)"
        ),
    )


def test_a_gate_that_cannot_be_told_is_an_error(make_run: MakeRun) -> None:
    run = make_run(make_run().rows[2:3], gates=[FAILED])
    assert report_to_github(run, ON) == (
        (
            "::error title=gate undecided::faithfulness: nothing was scored, so >= 0.8 "
            "cannot be checked (0 of 1 scored)"
        ),
    )


def test_a_run_that_was_stopped_is_an_error(make_run: MakeRun) -> None:
    first, *_ = report_to_github(make_run(partial=True), ON)
    assert first.startswith("::error title=run stopped early::the run stopped early")


def test_where_all_is_well_there_is_nothing_to_say(make_run: MakeRun) -> None:
    gate = Gate(metric="hit@5", op=">=", threshold=0.1)
    assert report_to_github(make_run(make_run().rows[:2], gates=[gate]), ON) == ()


def test_the_report_is_added_to_the_summary(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    environ = ON | {"GITHUB_STEP_SUMMARY": str(path)}
    run = make_run(gates=[FAILED])
    report_to_github(run, environ)
    assert path.read_text(encoding="utf-8") == run_as_markdown(run)
    report_to_github(run, environ)
    assert path.read_text(encoding="utf-8") == f"{run_as_markdown(run)}\n{run_as_markdown(run)}"


@pytest.mark.parametrize("taken", [SUMMARY_BYTES - 2000, SUMMARY_BYTES - 10, SUMMARY_BYTES])
def test_the_summary_is_never_longer_than_github_takes(
    make_run: MakeRun, tmp_path: Path, taken: int
) -> None:
    path = tmp_path / "summary.md"
    path.write_text("x" * taken, encoding="utf-8")
    said = report_to_github(make_run(), ON | {"GITHUB_STEP_SUMMARY": str(path)})
    assert path.stat().st_size <= SUMMARY_BYTES
    full = "::warning title=no summary::the job summary is full; no report was added"
    assert (full in said) == (taken > SUMMARY_BYTES - 2000)


def test_a_summary_that_cannot_be_written_is_a_warning(make_run: MakeRun, tmp_path: Path) -> None:
    *_, said = report_to_github(make_run(), ON | {"GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert said.startswith("::warning title=no summary::the job summary cannot be written: ")


def test_at_most_ten_of_a_kind_and_the_last_counts_the_rest(make_run: MakeRun) -> None:
    gates = [FAILED.model_copy(update={"threshold": 0.5 + number / 100}) for number in range(12)]
    said = report_to_github(make_run(gates=gates), ON)
    errors = [line for line in said if line.startswith("::error ")]
    assert len(errors) == MAX_ANNOTATIONS
    assert errors[-1] == "::error title=and more::3 more; see the job summary"


@each_case(
    ("title", "words", "expected"),
    [
        ("a", "b", "::error title=a::b"),
        ("a: b, c", "d: e, f", "::error title=a%3A b%2C c::d: e, f"),
        ("100%", "%0A::error::x", "::error title=100%25::%250A::error::x"),
        ("a::b", "x\n::set-env::y\r\nz", "::error title=a%3A%3Ab::x ::set-env::y z"),
        ("a", "\x1b[31m\u2028::x", "::error title=a::�[31m ::x"),
    ],
)
def test_an_annotation_is_one_line_that_holds_no_other(
    title: str, words: str, expected: str
) -> None:
    assert annotation("error", title, words) == expected
    assert len(expected.splitlines()) == 1


def test_nothing_that_is_printed_meanwhile_is_obeyed() -> None:
    stream = io.StringIO()
    with no_commands(stream, ON):
        stream.write("::error::from outside")
    first, said, last = stream.getvalue().splitlines()
    token = first.removeprefix("::stop-commands::")
    assert len(token) == 32
    assert (said, last) == ("::error::from outside", f"::{token}::")
    with no_commands(quiet := io.StringIO(), {}):
        pass
    assert quiet.getvalue() == ""


def test_that_too_much_failed_is_an_error_whatever_the_gates_say(make_run: MakeRun) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.1)
    first, *_ = report_to_github(make_run(gates=[gate], max_failure_rate=0.1), ON)
    assert first.startswith("::error title=too many failures::1 of 3 scores of faithfulness failed")


def bad_file(tmp_path: Path, name: str, *, unit: str = "row") -> InputError:
    path = tmp_path / "data" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("", encoding="utf-8")
    problems = [Problem("no query, 50%", "give one", row=3, unit=unit), Problem("b"), Problem("c")]
    return InputError(str(path), problems)


def test_bad_data_are_one_error_at_their_line(tmp_path: Path) -> None:
    error = bad_file(tmp_path, "a,b.jsonl", unit="line")
    said = error_annotation(error, ON | {"GITHUB_WORKSPACE": str(tmp_path)})
    place = "file=data/a%2Cb.jsonl,line=3,title=invalid data"
    words = f"{error.file}: line 3: no query, 50%25; give one (and 2 more problems)"
    assert said == f"::error {place}::{words}"
    assert error_annotation(error, {}) is None


def test_rows_that_are_no_lines_have_none(tmp_path: Path) -> None:
    said = error_annotation(bad_file(tmp_path, "a.xlsx"), ON | {"GITHUB_WORKSPACE": str(tmp_path)})
    assert said is not None
    assert said.startswith("::error file=data/a.xlsx,title=invalid data::")


def test_a_file_from_elsewhere_has_no_place(tmp_path: Path) -> None:
    elsewhere = {"GITHUB_WORKSPACE": str(tmp_path / "other")}
    for error in (
        bad_file(tmp_path, "a.csv", unit="line"),
        InputError("samples", [Problem("x", row=1)]),
    ):
        said = error_annotation(error, ON | elsewhere)
        assert said is not None
        assert said.startswith("::error title=invalid data::")


def test_what_cannot_be_done_is_one_error() -> None:
    said = error_annotation(UsageError("there is no key\n::set-env name=a::b"), ON)
    assert said == "::error title=nothing was scored::there is no key ::set-env name=a::b"
