"""What `ragstone judge test` prints: kind by kind, the share that is right, and how sure it is."""

from collections.abc import Mapping
from types import MappingProxyType

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragstone.judge_test import JudgeTest, KindResult
from ragstone.judge_test.result import WORDS, Wanted
from ragstone.messages import count
from ragstone.reports.figures import NOTHING, dollars
from ragstone.stats.shares import Share

SAID: Mapping[str, str] = MappingProxyType(
    {
        "number": "another number",
        "date": "another date, month, weekday or year",
        "unit": "another unit or currency",
        "name": "a name of another sample",
        "negation": "a negation put in or taken out",
        "qualifier": "a limit left out (`only`, `up to`, `if ...`)",
        "invented": "a sentence of another sample added",
        "unrelated": "a claim of another sample, as it is",
        "order_in_claim": "that claim, with an order to call it supported",
        "order_in_context": "that claim, with the order in a context",
        "copied": "a sentence of the contexts, as it is",
        "evidence_moved": "the context with the evidence last",
        "claims_reversed": "the claims in reverse order",
    }
)
"""Kind -> what was done."""
WIDE = 100
"""Columns of a terminal that the table needs with what was done in it."""


def print_test(test: JudgeTest, console: Console) -> None:
    """Print a test: a table with a heading for each thing that is wanted of a judge."""
    console.print(Text(_begins(test)))
    for wanted, words in WORDS.items():
        kinds = [kind for kind in test.kinds if kind.wanted == wanted]
        console.print()
        console.print(_table(wanted, words, [*kinds, test.total(wanted)], console.width >= WIDE))
    if test.local_calls:
        console.print()
        calls = count(test.local_calls, "call")
        console.print(Text(f"{calls} of a model on this machine, nothing to pay"))
    if not test.calls and not test.failed and not test.unasked:
        return
    console.print()
    cost = "no price is known" if test.cost_usd is None else f"about {dollars(test.cost_usd)}"
    failed = f"; {count(test.failed, 'question')} without an answer" if test.failed else ""
    unasked = f"; {count(test.unasked, 'question')} not asked" if test.unasked else ""
    console.print(Text(f"{count(test.calls, 'call')}, {cost}{failed}{unasked}"))


def _begins(test: JudgeTest) -> str:
    claims = count(test.claims, "claim")
    if test.stopped:
        claims = f"{test.claims:,} of {count(test.planned, 'claim')} ({test.stopped}),"
    of = f"{claims} of {count(test.samples, 'sample')} of {test.data}"
    which = "it was" if test.supported == 1 else "those were"
    changed = f", and {which} changed" if test.supported else ""
    return f"{test.judge}: {of}; it called {test.supported:,} supported{changed}"


def _table(wanted: Wanted, words: str, kinds: list[KindResult], wide: bool) -> Table:
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    heads = ("kind", *(("what was done",) if wide else ()), words, "95 % interval", "applied to")
    for head in heads:
        table.add_column(head, justify="left" if head in heads[: 1 + wide] else "right")
    for kind in kinds if len(kinds) > 2 else kinds[:-1]:
        last = kind.kind == wanted
        name = "together" if last else kind.kind
        done = [Text("" if last else SAID[kind.kind])] if wide else []
        of = "" if last else f"{kind.applied:,} of {kind.of:,}"
        cells = (Text(name, "bold"), *done, *map(Text, (*_figures(kind), of)))
        table.add_row(*cells)
    return table


def _figures(kind: KindResult) -> tuple[str, str]:
    if not kind.answered:
        return NOTHING, NOTHING
    share = Share(kind.right, kind.answered)
    return share.seen, share.interval
