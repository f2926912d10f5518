import csv

from tests.cases import each_case
from tests.datasets.reading import Write, problems

from ragstone.datasets import load


@each_case("mark", [b"", b"\xef\xbb\xbf"])
@each_case("delimiter", [",", ";", "\t", "|"])
@each_case("end", ["\n", "\r\n", "\r"])
def test_the_delimiter_is_found_out(write: Write, mark: bytes, delimiter: str, end: str):
    rows = [["Query", "point_ids", "Grüße"], ["What, or who; then?", "[1, 2]", "ü"]]
    lines = [delimiter.join(f'"{cell}"' for cell in row) for row in rows]
    (sample,) = load(write("data.csv", mark + end.join(lines).encode())).samples
    assert (sample.query, sample.tags) == ("What, or who; then?", {"Grüße": "ü"})
    assert sample.relevance == {"1": 1.0, "2": 1.0}


def test_names_decide_over_delimiters_inside_them(write: Write):
    (sample,) = load(write("a.csv", "query;tag (a, b, c)\nq;x")).samples
    assert sample.tags == {"tag (a, b, c)": "x"}
    (sample,) = load(write("a.tsv", "query\tanswer,output\nq, or r\tx")).samples
    assert (sample.query, sample.tags) == ("q, or r", {"answer,output": "x"})
    assert problems(write("a.csv", "sep=|\r\nquery|id\r\nq|1\r\n|2\r\n")) == [
        "line 4, column query, sample 2: there is no query; fill it in, or delete the row"
    ]


def test_a_blank_cell_is_missing_and_blank_lines_are_not_rows(write: Write):
    loaded = load(write("a.csv", '\n,,\nquery,answer,contexts\n\nq,,\n,,\nr," ",\ns\n'))
    assert [sample.query for sample in loaded.samples] == ["q", "r", "s"]
    assert [sample.id for sample in loaded.samples] == ["1", "2", "3"]
    assert {(sample.response, sample.contexts) for sample in loaded.samples} == {(None, None)}


def test_a_row_is_numbered_by_the_line_it_begins_on(write: Write):
    path = write("a.csv", 'query,id\n"two\nlines",1\n,2\n"again\n\ntwo",3\n ,4\nNone,5\n')
    missing = "there is no query; fill it in, or delete the row"
    assert problems(path) == [
        f"line {line}, column query, sample {sample}: {missing}"
        for line, sample in ((4, 2), (8, 4), (9, 5))
    ]


def test_a_row_with_more_cells_than_the_header(write: Write):
    first, second = problems(write("a.csv", "query,answer\nq,a,,\nr,a,b\n,c\n"))
    assert first.startswith("line 3: there is a cell in column 3, but the header ends at column 2;")
    assert second.startswith("line 4, column query: there is no query")


def test_a_quote_that_is_never_closed_is_reported_with_all_before_it(write: Write):
    first, second = problems(write("a.csv", 'query,id\n,1\nq,2\n"r,3\ns,4\n'))
    assert first.startswith("line 2, column query, sample 1: there is no query")
    assert second.startswith("line 4: cannot parse the row that starts here: unexpected end of da")
    assert second.endswith('and double the quotes inside: "say ""yes"""')
    (message,) = problems(write("b.csv", '"query,id\nq,1\n'))
    assert message.startswith("line 1: cannot parse the row that starts here")


def test_long_cells_are_read_and_the_limit_of_others_stays(write: Write):
    usual = csv.field_size_limit()
    (sample,) = load(write("a.csv", f"query,response,x\nq,{'x' * 1_000_000},y\n")).samples
    assert sample.response == "x" * 1_000_000
    assert csv.field_size_limit() == usual


NUL = f"query\n{'q' * 5000}\0\n"


@each_case(
    ("content", "message"),
    [
        ("", "the file is empty; add at least one row with a query"),
        (",,\n", "there are no rows; add at least one row with a query"),
        ("query,a,a\nq\n", "two columns have the same name: 'a'; rename one of them"),
        (NUL, "line 2: the text contains a NUL character; it may be damaged or UTF-16"),
        ("query\nq".encode("utf-16"), "this is UTF-16 text; save it as UTF-8 (Excel: 'CSV UTF-8')"),
        (b"PK\x03\x04...", "this is a workbook, not text; change its extension to .xlsx"),
    ],
)
def test_files_without_what_they_need(write: Write, content: str | bytes, message: str):
    assert problems(write("a.csv", content)) == [message]


def test_what_pandas_writes(write: Write):
    text = ",query,point_ids,contexts\n0,q,1.0,\"['a', 'b']\"\n1,r,,\"['a' 'b']\"\n"
    loaded = load(write("a.csv", text))
    assert loaded.samples[0].relevance == {"1": 1.0}
    for sample in loaded.samples:
        assert [context.text for context in sample.contexts or ()] == ["a", "b"]
    assert loaded.source.notes == ("ignored, because it has no name: column 1",)


def test_words_for_missing_values(write: Write):
    text = "query,response,reference,tag\nq,nan,N/A,nan\nr,<NA>,NaT,b\ns,nan,c,d\n"
    loaded = load(write("a.csv", text))
    found = [(sample.response, sample.reference) for sample in loaded.samples]
    assert found == [(None, "N/A"), (None, None), (None, "c")]
    assert loaded.samples[0].tags == {"tag": "nan"}
    unclear, *missing = loaded.source.notes
    assert unclear.startswith("column reference: N/A is read as text; leave it out if the value is")
    assert missing == [
        "column reference: NaT is read as missing (1 cell, first in line 3)",
        "column response: <NA> is read as missing (1 cell, first in line 3)",
        "column response: nan is read as missing (2 cells, first in line 2)",
    ]


@each_case("title", ["Questions, of May", "sep=;", '"two\n lines"', ""])
def test_a_header_below_others(write: Write, title: str):
    rows = "Nr;query;answer\n1;a, b, c;x\n"
    path = write("a.csv", f"{title}\n{rows}")
    number = 2 + title.count("\n")
    (sample,) = load(path, header_row=number).samples
    assert (sample.query, sample.response) == ("a, b, c", "x")
    if title.startswith(("Q", '"')):
        (message,) = problems(path)
        assert message.endswith(f"if so, use --header-row {number}")
    (message,) = problems(path, header_row=9)
    assert message.startswith("there is no header in line 9 or below it")
