from tests.cases import each_case

from ragstone.judges.llm.prompt import sections

NAMES = ("system", "user")


@each_case(
    ("text", "found"),
    [
        ("# system\nBe just.\n# user\n{query}", {"system": "Be just.", "user": "{query}"}),
        ("---\nversion: 1\n---\n# user\na\n\nb\n", {"user": "a\n\nb"}),
        ("# user\nb\n# system\na", {"user": "b", "system": "a"}),
        ("# user", {"user": ""}),
        ("# user  \t\na", {"user": "a"}),
        ("before\n# user\na", {"user": "a"}),
        ("# user\na\n# user\nb", {"user": "b"}),
        ("---\n# user\na", {"user": "a"}),  # no end: it is no front matter
        ("# user\n---\n# system\na\n---\n", {"user": "---", "system": "a\n---"}),
        ("", {}),
        ("no heading", {}),
    ],
)
def test_the_parts_under_headings_of_these_names(text: str, found: dict[str, str]) -> None:
    assert sections(text, NAMES) == found


@each_case(
    "line", ["# limit", "## user", "#user", " # user", "# user:", "# users", "# User", "a # user"]
)
def test_any_other_heading_is_text(line: str) -> None:
    assert sections(f"# system\na\n{line}\nb", NAMES) == {"system": f"a\n{line}\nb"}


def test_a_name_means_itself() -> None:
    assert sections("# ab\nx\n# a.\ny", ["a."]) == {"a.": "y"}
