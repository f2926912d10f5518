"""docs/labels-and-correction.md names every kind of change that tests a judge."""

from pathlib import Path

from ragstone.evaluation.judge_test import CHANGES, KINDS

PAGE = (Path(__file__).parents[2] / "docs/labels-and-correction.md").read_text(encoding="utf-8")


def test_every_kind_is_on_the_page_and_has_words() -> None:
    assert CHANGES.keys() == KINDS.keys()
    for kind, expected in KINDS.items():
        assert f"`{kind}`" in PAGE or f"\n{kind} " in PAGE
        assert f"`{expected}`" in PAGE
