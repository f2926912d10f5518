"""docs/judge-test.md: its figures are those of the test, and it names every kind."""

from pathlib import Path

from ragstone.demo.questions import grounded_samples
from ragstone.evaluation.judge_test import CHANGES, KINDS, run_judge_test
from ragstone.judges.offline import OfflineJudge

PAGE = (Path(__file__).parents[2] / "docs/judge-test.md").read_text(encoding="utf-8")


async def test_the_offline_judges_figures_are_those_of_the_page() -> None:
    test = await run_judge_test(
        OfflineJudge(), grounded_samples(), n=60, data="the manuals", version="1"
    )
    rows = [
        f"| `{kind.kind}` | {kind.right} of {kind.answered} ({kind.share:.0%}) "
        f"| {kind.interval[0]:.0%} to {kind.interval[1]:.0%} |"
        for kind in test.kinds
        if kind.share is not None and kind.interval is not None
    ]
    missing = [row for row in rows if row not in PAGE]
    assert not missing, missing


def test_every_kind_is_on_the_page_and_has_words() -> None:
    assert CHANGES.keys() == KINDS.keys()
    for kind, expected in KINDS.items():
        assert f"| `{kind}` |" in PAGE
        assert f"`{expected}`" in PAGE
