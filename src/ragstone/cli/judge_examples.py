"""What a judge missed in its test, claim by claim: a few of each kind."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from ragstone.judge_test import JudgeTest, TriedClaim
from ragstone.judge_test.trials import KINDS
from ragstone.messages import one_line

WIDEST = 200
"""Characters shown of a claim."""


def print_missed(test: JudgeTest, console: Console, *, most: int) -> None:
    """Print at most `most` claims of each kind at which the judge did not do what is wanted."""
    missed = test.missed()
    if not missed or not most:
        return
    more = any(len(found) > most for found in missed.values())
    rest = "; --show N shows more, --json FILE has all" if more else ""
    console.print()
    console.print(Text(f"What it missed, kind by kind{rest}:"))
    for kind, found in missed.items():
        for number, tried in enumerate(found[:most]):
            head = f"{kind} ({len(found):,})" if not number else ""
            console.print()
            console.print(Text(f"  {head:<22}sample {one_line(tried.sample, 60)}", "bold"))
            for name, text in _lines(tried):
                console.print(Text(f"    {name:<5} {text}"), soft_wrap=True)


def _lines(tried: TriedClaim) -> Iterator[tuple[str, str]]:
    if tried.claim != tried.was:
        yield "was", one_line(tried.was, WIDEST)
        yield "put", one_line(tried.claim, WIDEST)
    else:
        yield "claim", one_line(tried.claim, WIDEST)
    kept = KINDS[tried.kind] == "kept"
    yield "said", f"{tried.label_before}, then {tried.label}" if kept else f"{tried.label}"
