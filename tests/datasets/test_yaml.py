import subprocess
import sys
from pathlib import Path

from tests.cases import each_case
from tests.datasets.reading import Write, problems

from ragstone.datasets import load


def test_a_list_of_objects(write: Write):
    text = """
    - query: What is it?
      point_ids: {5: 2, doc-a: 1}
      since: 2024-05-01
      contexts: [a, {text: b, id: 7}]
    - {query: 5, response: "", point_ids: ~, contexts: null}
    """
    first, second = load(write("a.yaml", text)).samples
    assert (first.relevance, first.tags) == ({"5": 2.0, "doc-a": 1.0}, {"since": "2024-05-01"})
    assert [(each.text, each.id) for each in first.contexts or ()] == [("a", None), ("b", "7")]
    assert (second.query, second.response) == ("5", "")
    assert (second.relevance, second.contexts) == (None, None)


@each_case(
    "word",
    ["010", "1:30", "12:30", "1_0", "0x1F", "0b11", "no", "yes", "On", "off", "y", "=", "1e5",
     "+5", "2024-05-01", "2024-13-45", "1.", ".5", "1_000.5"],
)  # fmt: skip
def test_what_may_be_a_word_or_an_id_stays_text(write: Write, word: str):
    text = f"- {{query: {word}, point_ids: [{word}], level: {word}}}\n"
    (sample,) = load(write("a.yaml", text)).samples
    assert (sample.query, sample.relevance, sample.tags) == (word, {word: 1.0}, {"level": word})


@each_case(
    ("word", "value"),
    [("7", 7), ("-7", -7), ("0", 0), ("0.5", 0.5), ("1.5e-05", 1.5e-05), ("true", True),
     ("False", False), ("'7'", "7")],
)  # fmt: skip
def test_numbers_and_truth_are_read(write: Write, word: str, value: object):
    (sample,) = load(write("a.yaml", f"- query: a\n  level: {word}\n")).samples
    assert sample.tags == {"level": value}
    assert type(sample.tags["level"]) is type(value)


def test_without_libyaml_all_is_read_alike(write: Write):
    path = write("a.yaml", "- {query: no, point_ids: [010]}\n")
    program = f"""
import sys
sys.modules["yaml.cyaml"] = None
from ragstone.datasets import load
from ragstone.demo.questions import corpus
from ragstone.demo.questions import entries
import yaml
assert not hasattr(yaml, "CSafeLoader") and corpus() and entries()
(sample,) = load({str(path)!r}).samples
print(sample.query, *sample.relevance)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("no 010\n", "")


def test_rows_are_numbered_by_the_line_they_begin_on(write: Write):
    text = "about: [1, 2]\nrows:\n  - query: a\n\n  - id: x\n    query:\n"
    assert problems(write("a.yml", text)) == [
        "line 5, column query, sample x: there is no query; fill it in, or delete the row"
    ]


def test_aliases_and_merges_are_read(write: Write):
    text = "- &a {query: a, level: 1}\n- {<<: *a, query: b}\n"
    samples = load(write("a.yaml", text)).samples
    assert [(sample.query, sample.tags["level"]) for sample in samples] == [("a", 1), ("b", 1)]
    text = "base: &a {rows: [{query: a}, {query: b}]}\n<<: *a\nrows: [{query: c}]\n"
    assert [sample.query for sample in load(write("a.yaml", text)).samples] == ["c"]
    merged = text.rpartition("rows:")[0]
    assert [sample.query for sample in load(write("b.yaml", merged)).samples] == ["a", "b"]


@each_case("merge", [True, False])
def test_a_bomb_of_aliases_is_refused_at_once(write: Write, merge: bool):
    lines = ["- &a0 {query: lol, x: lol}"]
    for level in range(1, 10):
        repeated = ", ".join([f"*a{level - 1}"] * 10)
        inside = f"<<: [{repeated}]" if merge else f"query: a, x: [{repeated}]"
        lines.append(f"- &a{level} {{{inside}}}")
    assert problems(write("a.yaml", "\n".join(lines))) == [
        "line 1: invalid YAML: its aliases expand to more than 10,000,000 characters"
    ]


@each_case("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_at_once(write: Write, opening: str):
    [problem] = problems(write("a.yaml", opening * 100_000))
    assert problem in {
        "line 1: lists or objects are nested 60 deep",
        "line 1: invalid YAML: exceeded maximum nesting depth",  # by newer versions of the parser
    }


@each_case(
    ("text", "message"),
    [
        ("- a: b: c", "line 1: invalid YAML: mapping values are not allowed in this context"),
        ("- query: a\n  query: b", "line 2: invalid YAML: duplicate name 'query' in an object"),
        ("- &a [*a]", "line 1: invalid YAML: an alias refers to a value that contains it"),
        ("- query: a\n  true: b", "line 1: the field name True is not text; put it in quotes"),
        ("- query: !!binary aGk=", "line 1, column query: values of type bytes are not supported"),
        ("- query: a\n--- \n- query: b", "line 2: invalid YAML: but found another document"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(write: Write, text: str, message: str):
    assert problems(write("a.yaml", text)) == [message]


def test_python_objects_are_never_made(write: Write, tmp_path: Path):
    made = tmp_path / "made"
    call = f"- query: !!python/object/apply:pathlib.Path.touch ['{made}']"
    (message,) = problems(write("a.yaml", call))
    assert message.startswith("line 1: invalid YAML: could not determine a constructor")
    assert not made.exists()
    for value in ("!!timestamp soon", "!!int ''", "!!bool perhaps", "!!float a", "!!set a"):
        (message,) = problems(write("a.yaml", f"- query: {value}"))
        assert "YAML" in message
