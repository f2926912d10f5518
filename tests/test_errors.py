import re
import subprocess
import sys

from tests.cases import each_case

from ragstone import errors
from ragstone.errors import (
    InputError,
    Problem,
    RagstoneError,
    UnknownNameError,
)


def test_the_tree_is_the_one_in_the_docstring() -> None:
    drawn = set(re.findall(r"── (\w+)", errors.__doc__ or ""))
    written = {
        name
        for name, thing in vars(errors).items()
        if isinstance(thing, type) and issubclass(thing, RagstoneError)
    }
    assert drawn == written - {"RagstoneError"}


@each_case(
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
    assert str(InputError("a.json", [Problem("no JSON")])) == "a.json: 1 problem\n  no JSON"


def test_a_long_list_is_cut_and_counted_but_kept() -> None:
    error = InputError("data.csv", [Problem("no query", row=row) for row in range(25)])
    lines = str(error).splitlines()
    assert (lines[0], lines[-1]) == ("data.csv: 25 problems", "  ... and 5 more")
    assert (len(lines), len(error.problems)) == (1 + InputError.shown + 1, 25)
    assert "more" not in str(InputError("data.csv", error.problems[: InputError.shown]))


def test_an_unknown_name_offers_the_nearest_or_lists_all() -> None:
    near = UnknownNameError("metric", "recal", ["recall", "precision", "hit"])
    assert str(near) == "there is no metric named 'recal'; did you mean 'recall'?"
    far = UnknownNameError("judge", "xyz", ["offline", "openai"])
    assert str(far) == "there is no judge named 'xyz'; known: offline, openai"


def test_errors_load_nothing_heavy() -> None:
    code = "import ragstone.errors, sys; print('pydantic' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"
