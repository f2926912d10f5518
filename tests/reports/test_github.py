import io
from pathlib import Path
from typing import Any

from tests.cases import each_case
from tests.reports.conftest import MakeRun

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
from ragstone.types.gate import Gate

FAILED = Gate(metric="faithfulness", op=">=", threshold=0.8)
ON = {"GITHUB_ACTIONS": "true"}


LOW = Gate(metric="faithfulness", op=">=", threshold=0.1)


ERROR, MISSING = "::error title=", "::warning title=missing scores::faithfulness: 1 of 4 scores"
FEW = "::faithfulness: nothing was scored, so >= 0.8 cannot be checked"


@each_case(
    ("rows", "options", "lines"),
    [
        (slice(4), {"gates": [FAILED]}, [f"{ERROR}gate failed::faithfulness 0.2500", MISSING]),
        (slice(2, 3), {"gates": [FAILED]}, [f"{ERROR}gate undecided{FEW}"]),
        (slice(2), {"partial": True}, [f"{ERROR}run stopped early::the run stopped early"]),
        (
            slice(4),
            {"gates": [LOW], "max_failure_rate": 0.1},
            [f"{ERROR}too many failures::1 of 3 scores of faithfulness failed", MISSING],
        ),
        (slice(2), {"gates": [LOW]}, []),  # all is well
    ],
)
def test_what_failed_is_an_error_and_what_was_not_judged_is_a_warning(
    make_run: MakeRun, rows: slice, options: Any, lines: list[str]
) -> None:
    said = report_to_github(make_run(make_run().rows[rows], **options), ON)
    assert len(said) == len(lines)
    for found, start in zip(said, lines, strict=True):
        assert found.startswith(start)


def test_the_report_is_added_to_a_summary_with_room(make_run: MakeRun, tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    environ = {"GITHUB_STEP_SUMMARY": str(path)}
    run = make_run(gates=[FAILED])
    assert report_to_github(run, environ) == ()
    assert not path.exists(), "elsewhere nothing is done"
    report_to_github(run, ON | environ)
    assert path.read_text(encoding="utf-8") == run_as_markdown(run)
    report_to_github(run, ON | environ)
    assert path.read_text(encoding="utf-8") == f"{run_as_markdown(run)}\n{run_as_markdown(run)}"
    full = "::warning title=no summary::the job summary is full; no report was added"
    for taken, is_full in ((2000, False), (10, True), (0, True)):
        path.write_text("x" * (SUMMARY_BYTES - taken), encoding="utf-8")
        said = report_to_github(make_run(), ON | environ)
        assert path.stat().st_size <= SUMMARY_BYTES
        assert (full in said) is is_full
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
def test_an_annotation_is_one_line_and_no_other(title: str, words: str, expected: str) -> None:
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


def bad_file(tmp_path: Path, name: str, *, unit: str = "row") -> InputError:
    path = tmp_path / "data" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("", encoding="utf-8")
    problems = [Problem("no query, 50%", "give one", row=3, unit=unit), Problem("b"), Problem("c")]
    return InputError(str(path), problems)


def test_bad_data_are_one_error_at_their_line(tmp_path: Path) -> None:
    error = bad_file(tmp_path, "a,b.jsonl", unit="line")
    here = ON | {"GITHUB_WORKSPACE": str(tmp_path)}
    place = "file=data/a%2Cb.jsonl,line=3,title=invalid data"
    words = f"{error.file}: line 3: no query, 50%25; give one (and 2 more problems)"
    assert error_annotation(error, here) == f"::error {place}::{words}"
    assert error_annotation(error, {}) is None
    said = error_annotation(bad_file(tmp_path, "a.xlsx"), here) or ""  # its rows are no lines
    assert said.startswith("::error file=data/a.xlsx,title=invalid data::")
    unknown = error_annotation(UsageError("there is no key\n::set-env name=a::b"), ON)
    assert unknown == "::error title=nothing was scored::there is no key ::set-env name=a::b"


def test_a_file_from_elsewhere_has_no_place(tmp_path: Path) -> None:
    elsewhere = {"GITHUB_WORKSPACE": str(tmp_path / "other")}
    for error in (
        bad_file(tmp_path, "a.csv", unit="line"),
        InputError("samples", [Problem("x", row=1)]),
    ):
        said = error_annotation(error, ON | elsewhere)
        assert said is not None
        assert said.startswith("::error title=invalid data::")
