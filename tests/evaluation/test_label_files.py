"""Labels from spreadsheets: spellings, matching, and all problems of a file at once."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
import xlsxwriter
from tests.cases import each_case

from ragstone.errors import InputError, UsageError
from ragstone.evaluation.labelling import ClaimRow, LabelDefaults, read_label_file, value_of
from ragstone.types.label import HumanLabel
from ragstone.types.sample import hash_texts

YES = "yes Y TRUE true 1 ✓ Supported faithful"
NO = "no N FALSE 0 ✗ unsupported hallucinated"
METRICS = ("faithfulness",)
CLAIMS = ("It lasts 20 hours.", "It weighs 5 g.")


def row(place: int, name: str, texts: Sequence[str] = CLAIMS) -> ClaimRow:
    claims = [{"text": text, "label": "SUPPORTED"} for text in texts]
    score = {"state": "scored", "claims": claims}
    return ClaimRow.model_validate(
        {"index": place, "sample": {"id": name, "query": "Q?"}, "scores": {"faithfulness": score}}
    )


ROWS = [row(0, "q1"), row(1, "7"), row(2, "=q3", ["-5 degrees", "3"]), row(3, "q4", [])]
Read = Callable[..., list[HumanLabel]]


def read_file(path: Path, rows: Sequence[ClaimRow] = ROWS, **options: object):
    defaults = LabelDefaults("r1", "faithfulness", "ana", METRICS)
    return read_label_file(path, rows, defaults, **options)  # type: ignore[arg-type]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def labels(
        name: str, content: str, rows: Sequence[ClaimRow] = ROWS, **options: object
    ) -> list[HumanLabel]:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return [*read_file(path, rows, **options)[0]]

    return labels


def short(labels: Sequence[HumanLabel]) -> list[tuple[str, int | None, bool | None]]:
    return [(each.sample_id, each.claim, each.value) for each in labels]


@each_case(
    ("cell", "value"),
    [
        *((word, True) for word in [*YES.split(), True, 1, 1.0, "1.0", " Yes. "]),
        *((word, False) for word in [*NO.split(), False, 0.0, "NOT_SUPPORTED", "not enough info"]),
        *((word, None) for word in ("?", "cannot tell", "can't tell", "Unsure")),
    ],
)
def test_labels_are_spelled_in_many_ways(cell: object, value: bool | None) -> None:
    assert value_of(cell) is value


@each_case("cell", ["maybe", 2, 0.5, "-", "10", [], "yes and no", "-1", "!1", "+1"])
def test_other_cells_are_no_labels(cell: object) -> None:
    with pytest.raises(ValueError, match="is not a label; use yes, no or"):
        value_of(cell)


def test_claims_are_matched_by_text_or_number(read: Read) -> None:
    text = (
        "ID;Claim;Human\n"
        "q1;it lasts  20 hours.;yes\nq1;2;no\n7;It weighs 5 g.;?\n7.0;1;\n"
        "=q3;3;1\n'=q3;'-5 degrees;0\n"
    )
    labels = read("labels.csv", text)
    by_text_or_number = [("q1", 0, True), ("q1", 1, False), ("7", 1, None)]
    assert short(labels) == [*by_text_or_number, ("=q3", 1, True), ("=q3", 0, False)]
    assert {(each.annotator, each.blind) for each in labels} == {("ana", False)}


def test_numbers_are_found_as_they_are(read: Read) -> None:
    rows = [row(0, "q1", ["It lasts.", "It weighs 5 g.", "It lasts."])]
    text = "id,number,claim,human\nq1,3,It lasts.,no\nq1,1.0,It lasts.,yes\nq1,7,It weighs 5 g.,?\n"
    labels = read("a.csv", text, rows)
    assert short(labels) == [("q1", 2, False), ("q1", 0, True), ("q1", 1, None)]
    rows = [row(place, name) for place, name in enumerate(["2", "2.0", "007"])]
    lines = "\n".join(f'{{"id": {name}, "human": 1}}' for name in ('"2.0"', 2, '"007"'))
    assert [label.position for label in read("a.jsonl", lines, rows)] == [1, 0, 2]


def test_numbers_may_be_written_as_by_pandas(read: Read) -> None:
    for key, first, second in (("id", "q1", 7.0), ("position", 0.0, 1.0)):
        cells = [(first, 2.0, 1.0), (second, 1, 0.0)]
        names = (key, "claim", "human")
        lines = "".join(",".join(map(str, row)) + "\n" for row in (names, *cells))
        assert short(read("a.csv", lines)) == [("q1", 1, True), ("7", 0, False)]


def test_a_file_without_claims_labels_responses(read: Read) -> None:
    labels = read("labels.csv", "sample_id,human,blind\nq4,yes,yes\n7,no,yes\n")
    assert short(labels) == [("q4", None, True), ("7", None, False)]
    assert all(each.blind for each in labels)
    assert read("a.csv", "id,human\n") == []


def test_a_label_has_a_known_time_and_is_blind_or_not(read: Read) -> None:
    now = datetime.now(UTC)
    text = f"id,human,at,blind\nq1,1,{now + timedelta(hours=20)},0.0\n7,1,,no\nq4,1,,1.0\n"
    labels = read("a.csv", text)
    assert [each.blind for each in labels] == [False, False, True]
    assert max(each.at for each in labels) <= datetime.now(UTC), "so that undo finds later answers"
    text = f"id,human,at,blind\nq1,1,{now + timedelta(hours=30)},maybe\n7,1,9999-12-31,?\n"
    with pytest.raises(InputError) as found:
        read("a.csv", text)
    future, blind, far, _ = map(str, found.value.problems)
    assert "line 2, column at" in future
    assert "line 3, column at, sample 7: '9999-12-31' is in the future; write when" in far
    assert "column blind, sample q1: 'maybe' is not a value of blind; use yes or no" in blind


def test_rows_without_ids_are_matched_by_position(read: Read) -> None:
    text = '{"position": 2, "claim": 1, "human": true}\n{"position": 0, "human": "no"}\n'
    assert short(read("a.jsonl", text)) == [("=q3", 0, True), ("q1", None, False)]
    with pytest.raises(InputError, match="column position: the run has no row '9'"):
        read("a.csv", "position,human\n9,1\n")


def test_columns_can_be_mapped(read: Read) -> None:
    text = "Nr,Satz,Wer,human,at,blind\nq1,2,ben,1,2026-11-23T10:00+02:00,yes\n"
    (label,) = read("a.csv", text, columns={"id": "nr", "claim": "Satz", "annotator": "Wer"})
    at = datetime(2026, 11, 23, 8, tzinfo=UTC)
    assert label == HumanLabel("r1", 0, "q1", "faithfulness", 1, True, "ben", at, True)


@each_case(
    ("text", "columns", "message"),
    [
        ("id,humans\nq1,1\n", {}, "there is no such column; did you mean map human=humans"),
        ("id,human\nq1,1\n", {"idd": "id"}, "no field named 'idd'; did you mean 'id'"),
        ("id,qid,human\nq1,q1,1\n", {}, "both|all match id"),
        ("id,label,against,confidence,quotes\nq1,1\n", {"human": "label"}, "the judge's verdicts"),
    ],
)
def test_wrong_columns_are_reported(read, text: str, columns: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read("a.csv", text, columns=columns)


def test_yes_in_a_negative_column_means_unsupported(read: Read) -> None:
    text = "id,hallucination\nq1,1\n7,0.0\nq4,supported\n=q3,?\n"
    labels = read("a.csv", text, columns={"human": "hallucination"}, yes_means=False)
    assert [each.value for each in labels] == [False, True, True, None]


def test_a_messy_workbook_is_reported_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "labels.xlsx"
    cells = [
        ["Id", "Claim", "Human", "at"],
        ["q1", 1, "yes"],
        ["q1", "It lasts 20 hours.", "no"],  # conflicts with the row above
        ["q1", 1, "y"],  # repeats it
        ["q9", 1, "perhaps"],
        ["7", "It weighs 6 g.", "yes"],
        [None, 2, "no"],
        ["7", 2, 1, "soon"],
        [date(2026, 1, 7), None, "no"],
    ]
    with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
        sheet = book.add_worksheet("Round 1")
        book.add_worksheet("Round 2")
        for number, line in enumerate(cells):
            sheet.write_row(number, 0, line)
    with pytest.raises(InputError) as found:
        read_file(path)
    with pytest.raises(UsageError, match="read another sheet: 'Round 2'"):
        read_file(path, columns={"human": "humans"})
    told = [str(problem) for problem in found.value.problems]
    starts = [
        "sheet Round 1, row 3, column Human, sample q1: 'not supported', but row 2 has 'supported'",
        "sheet Round 1, row 5, column Human, sample q9: 'perhaps' is not a label",
        "sheet Round 1, row 5, column Id: the run has no row 'q9'",
        "sheet Round 1, row 6, column Claim, sample 7: the row has no claim 'It weighs 6 g.'",
        "sheet Round 1, row 7, column Id: the id is missing",
        "sheet Round 1, row 8, column at, sample 7: 'soon' is not a time",
        "sheet Round 1, row 9, column Id: this is a date or time (2026-01-07",
    ]
    assert len(told) == len(starts)
    assert [start for start in starts if not any(each.startswith(start) for each in told)] == []


def test_other_metrics_and_repetitions(tmp_path: Path) -> None:
    lines = [
        {"id": "q1", "claim": 1, "human": True, "probability": 0.01},
        {"id": "q1", "claim": "It lasts 20 hours.", "human": "yes"},
        {"id": "q1", "claim": 1, "human": None},
        {"id": "q1", "claim": 1, "human": "no", "annotator": "ben"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    labels, notes = read_file(path)
    assert [each.annotator for each in labels] == ["ana", "ben"]
    assert notes[:2] == ["1 row without a label", "1 row repeated with the same label"]
    assert "the column probability has no effect: gates need rows that ragstone drew" in notes
    assert "it is not known whether the labelled answers and contexts are those of run" in notes[3]
    path.write_text('{"id": "q1", "human": "yes", "metric": "hit@5"}\n')
    unknown = r"column metric, .*the run has no hit@5 with .*, only faithful"
    with pytest.raises(InputError, match=unknown):
        read_file(path)


def test_labels_of_other_answers_and_contexts_are_refused(read: Read) -> None:
    """All at once, with the row and the id; the other labels of the file are not stored either."""
    right = row(0, "q1").sample.text_hashes
    assert right == hash_texts(None, ())
    other = hash_texts(None, ["Another context."])
    lines = [f"q1,1,yes,{right},", f"q1,2,no,{other},", "7,1,yes,,", "7,2,yes,,Another answer."]
    with pytest.raises(InputError) as found:
        read("a.csv", "\n".join(["id,claim,human,text_hashes,response", *lines, ""]))
    words = "its texts in run r1 are others, or unknown; label it"
    assert [str(problem) for problem in found.value.problems] == [
        f"line 3, column text_hashes, sample q1: {words}",
        f"line 4, column text_hashes, sample 7: {words}",
        f"line 5, column response, sample 7: {words}",
    ]
    assert hash_texts("It lasts\r\n20 h. ", ["A", "B"]) == hash_texts("'It lasts 20 h.", ["A\nB"])
