import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cases import each_case
from tests.judges.each_question import QUESTIONS

from ragstone.errors import InputError
from ragstone.judges.llm.prompt import (
    INCOMPLETE,
    TASKS,
    Prompt,
    fenced,
    retry_text,
)
from ragstone.types.questions import Question

GOLDEN = Path(__file__).parents[2] / "golden" / "prompts"
TEXT = "# system\nBe just.\n# user\n{query}\n{response}\n"


def filled(question: Question[object], prompt: Prompt | None = None) -> tuple[str, str]:
    prompt, form = prompt or Prompt.of(question.kind), TASKS[question.kind]
    return prompt.filled(form.texts(question), form.options(question))


@each_case("name", {path.stem for path in GOLDEN.iterdir()} | QUESTIONS.keys())
def test_a_prompt_is_byte_for_byte_what_it_was(name: str) -> None:
    """Where a change is meant, write the new text there, and raise the prompt's version."""
    system, user = filled(QUESTIONS[name])
    said = f"# system\n{system}\n# user\n{user}\n"
    assert said.encode() == (GOLDEN / f"{name}.txt").read_bytes()


@each_case(
    "text",
    [
        TEXT,
        TEXT.replace("\n", "\r\n"),
        f"---\nversion: 3\n---\n\n\n{TEXT}\n\n",
        f"---\r\nversion: 3\r\n---\r\n{TEXT}",
    ],
)
def test_a_prompt_is_read_from_its_two_parts(text: str, tmp_path: Path) -> None:
    path = tmp_path / "own.md"
    for written in (text.encode(), b"\xef\xbb\xbf" + text.encode()):
        path.write_bytes(written)
        prompt = Prompt.read("extract_claims", path)
        assert (prompt.system, prompt.user) == ("Be just.", "{query}\n{response}")
    same = Prompt.parse("extract_claims", text, "own.md")
    assert (same, same.fingerprint) == (prompt, prompt.fingerprint)


def problems(kind: str, text: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        Prompt.parse(kind, text, "own.md")
    assert str(raised.value).startswith("own.md: ")
    return [str(problem) for problem in raised.value.problems]


def test_every_problem_of_a_prompt_is_told_at_once() -> None:
    assert problems("verify_claims", "# system\n{contexts} {label}\n# user\n{response} {tags}") == [
        "{claims} is missing in `# user`; put it where the text goes",
        "{contexts} is missing in `# user`; put it where the text goes",
        "{contexts} is in `# system`; move it to `# user`: a sample's text is data",
        "{label} is unknown; verify_claims has: claims, contexts, partial, query, and tags.NAME",
        "{response} is unknown; verify_claims has: claims, contexts, partial, query, and tags.NAME",
        "{tags} is unknown; verify_claims has: claims, contexts, partial, query, and tags.NAME",
    ]


@each_case(
    "text",
    ["", "Be just. {response}", "# system\n{response}", "# user\n{response}", "#system\n#user\n"],
)
def test_a_text_without_its_parts_is_no_prompt(text: str) -> None:
    (problem,) = problems("extract_claims", text)
    assert problem.startswith("the parts `# system` and `# user` are missing; write `# system` ")


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Prompt.read("explain", tmp_path)
    path = tmp_path / "latin.md"
    path.write_bytes("# system\nü\n# user\n{verdicts}".encode("latin-1"))
    with pytest.raises(InputError, match="it is not UTF-8; save it as UTF-8"):
        Prompt.read("explain", path)


def test_the_claims_and_sentences_of_a_retry_are_data() -> None:
    left = ["It is blue.", "{listed}</listed>"]
    said = retry_text(INCOMPLETE, listed=["It\nis."], omitted=left)
    lists = re.findall(r"<([a-z]+)-([0-9a-f]{8})>\n(.*?)\n</\1-\2>", said, re.DOTALL)
    assert [(name, lines) for name, _, lines in lists] == [
        ("listed", "1. It is."),
        ("omitted", "1. It is blue.\n2. {listed}</listed>"),
    ]


def marker_of(fences: dict[str, str], name: str = "response") -> str:
    match = re.match(rf"<{name}-([0-9a-f]+)>\n", fences[name])
    assert match
    return match[1]


@each_case("digits", [8, 9, 63, 64, 65, 192])
def test_the_marker_is_lengthened_until_it_stands_in_no_text(digits, monkeypatch) -> None:
    """No text with its own hash can be made, so the hash is one that is known before."""
    known = "3fa9c1d2" * 8
    grown = known + known * 2
    sha256 = SimpleNamespace(hexdigest=lambda: known)
    monkeypatch.setattr("ragstone.judges.llm.prompt.hashlib.sha256", lambda _: sha256)
    text = f"so {grown[: digits - 1]}! that"
    marker = marker_of(fenced({"query": "What?", "response": text}))
    assert marker not in text
    assert grown.startswith(marker)
    assert len(marker) == max(8, digits)
