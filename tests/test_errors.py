import re
import subprocess
import sys

import pytest

from ragstone import errors
from ragstone.errors import (
    CallError,
    Cause,
    InputError,
    JudgeError,
    Problem,
    QuestionNotSupportedError,
    RagstoneError,
    TargetError,
    UnknownNameError,
    UsageError,
)


def test_the_tree_is_the_one_in_the_docstring() -> None:
    drawn = set(re.findall(r"── (\w+)", errors.__doc__ or ""))
    written = {
        name
        for name, thing in vars(errors).items()
        if isinstance(thing, type) and issubclass(thing, RagstoneError)
    }
    assert drawn == written - {"RagstoneError"}


@pytest.mark.parametrize("kind", [InputError, UnknownNameError, TargetError])
def test_what_ends_with_exit_code_2_is_a_usage_error(kind: type[Exception]) -> None:
    assert issubclass(kind, UsageError)


@pytest.mark.parametrize("kind", [JudgeError, QuestionNotSupportedError, CallError])
def test_what_a_call_raises_is_none(kind: type[Exception]) -> None:
    assert not issubclass(kind, UsageError)
    assert issubclass(kind, RagstoneError)


def test_a_judge_error_has_a_cause_and_words() -> None:
    error = JudgeError(Cause.RATE_LIMITED, "429 from the judge", status=429)
    assert (error.cause, str(error), error.status) == ("rate_limited", "429 from the judge", 429)
    assert JudgeError(Cause.TIMEOUT, "no reply").status is None


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("it is empty"), "it is empty"),
        (Problem("it is empty", "write a row"), "it is empty; write a row"),
        (Problem("no query", row=0), "row 0: no query"),
        (
            Problem("'x' is no id", "use 5", "Data", 3, "point_ids", "q7"),
            "sheet Data, row 3, column point_ids, sample q7: 'x' is no id; use 5",
        ),
    ],
)
def test_a_problem_says_where_what_and_what_to_do(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_an_input_error_tells_every_problem() -> None:
    error = InputError("data.csv", [Problem("no query", row=2), Problem("no query", row=5)])
    assert str(error) == "data.csv: 2 problems\n  row 2: no query\n  row 5: no query"
    assert [problem.row for problem in error.problems] == [2, 5]


def test_one_problem_is_not_problems() -> None:
    assert str(InputError("a.json", [Problem("no JSON")])) == "a.json: 1 problem\n  no JSON"


def test_a_long_list_is_cut_and_counted_but_kept() -> None:
    error = InputError("data.csv", [Problem("no query", row=row) for row in range(25)])
    lines = str(error).splitlines()
    assert lines[0] == "data.csv: 25 problems"
    assert lines[-1] == "  ... and 5 more"
    assert len(lines) == 1 + InputError.shown + 1
    assert len(error.problems) == 25


def test_exactly_as_many_as_are_shown_are_not_cut() -> None:
    error = InputError("data.csv", [Problem("no query")] * InputError.shown)
    assert "more" not in str(error)


def test_an_unknown_name_offers_the_nearest() -> None:
    error = UnknownNameError("metric", "recal", ["recall", "precision", "hit"])
    assert str(error) == "there is no metric named 'recal'; did you mean 'recall'?"


def test_an_unknown_name_near_to_none_lists_all() -> None:
    error = UnknownNameError("judge", "xyz", ["offline", "openai"])
    assert str(error) == "there is no judge named 'xyz'; known: offline, openai"


def test_errors_load_nothing_heavy() -> None:
    code = "import ragstone.errors, sys; print('pydantic' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
