"""`ragstone policies`: what a score is in each situation, under each policy."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import click
from rich.console import Console
from rich.table import Table

from ragstone.errors import Cause
from ragstone.types.claim import Label
from ragstone.types.policy import POLICIES, PRESETS, Policy, PolicyOutcome
from ragstone.types.score import State

WIDE = 180
"""Columns of a terminal that shows a table; a narrower one shows a list for each policy."""


def _described(ruling: PolicyOutcome, cause: str = "") -> str:
    if ruling.state is State.FAILED and cause:
        return f"{ruling}: {cause}"
    return str(ruling) if ruling.passes else f"{ruling}, never passes"


def _no_contexts(policy: Policy) -> str:
    if policy.no_contexts is not None:
        return _described(policy.no_contexts)
    label = Label.NOT_ENOUGH_INFO
    return f"{policy.number([label]):.1f}: every claim is {label.value}"


def _miscounted(policy: Policy) -> str:
    miscount = policy.miscounted
    if miscount is None:
        return f"{State.FAILED.value}: {Cause.COUNT_MISMATCH.value}"
    kept = "after truncation" if miscount.cut else "of those returned"
    made = "1 - (unsupported + missing) / claims" if miscount.taken_off else f"mean {kept}"
    return f"{made}, flagged; if none: {_described(miscount.nothing)}"


def _misread(policy: Policy) -> str:
    if policy.misread is None:
        return f"{State.FAILED.value}: {Cause.MALFORMED.value}"
    return f"counts as {policy.misread.value}, flagged"


def _weights(policy: Policy) -> str:
    if policy.probable:
        return "mean probability of support"
    return " / ".join(f"{policy.weights[label]:g}" for label in Label)


SITUATIONS: Mapping[str, Callable[[Policy], str]] = MappingProxyType(
    {
        "response or contexts missing": lambda _: State.UNDEFINED.value,
        "response is empty": lambda policy: _described(policy.empty_response),
        "no claims in the response": lambda policy: _described(policy.no_claims),
        "contexts are an empty list": _no_contexts,
        "judge refused": lambda policy: _described(policy.refused, Cause.REFUSAL.value),
        "no reply (1)": lambda policy: _described(policy.unanswered, "timeout, etc."),
        "no readable reply (2)": lambda policy: _described(
            policy.unreadable, Cause.MALFORMED.value
        ),
        "too few or too many verdicts (2)": _miscounted,
        "one label unreadable (2)": _misread,
        "otherwise: mean of the weights (3)": _weights,
        "threshold": lambda policy: "none" if policy.threshold is None else f"{policy.threshold:g}",
        "range": lambda policy: f"{policy.low:g} to {policy.high:g}",
    }
)
"""Situation -> its outcome under a policy; the first that applies, from the top, decides."""

NOTES = (
    "The first situation that applies determines the score.",
    "(1) unreachable, rejected, timed out, rate limited, truncated or over budget",
    "(2) after one retry",
    f"(3) for {' / '.join(label.value for label in Label)}",
    "flagged: imputed by the policy and counted separately; a flagged score never passes",
    "A threshold sets `passed`, not the exit code; use --fail-under for that.",
)


@click.command(name="policies")
def command() -> None:
    """Show how each policy handles each situation.

    A policy turns verdicts into a score, and decides what happens if there are none. Choose one
    with --policy NAME; --preset NAME also sets how the judge is called.

    \b
    ragstone policies
    ragstone run answers.jsonl -m faithfulness --policy ragas
    """
    console = Console(highlight=False)
    if console.width >= WIDE:
        table = Table(
            "situation", *POLICIES, title="Policies", title_justify="left", show_lines=True
        )
        for situation, outcome in SITUATIONS.items():
            table.add_row(situation, *map(outcome, POLICIES.values()))
        console.print(table)
    else:
        for policy in POLICIES.values():
            console.print(f"{policy.name}: {policy.source}", markup=False)
            lines = Table.grid(padding=(0, 2))
            for situation, outcome in SITUATIONS.items():
                lines.add_row("", situation, outcome(policy))
            console.print(lines)
            console.print()
    for note in (*NOTES, ""):
        console.print(note, markup=False)
    for name, settings in PRESETS.items():
        pairs = ", ".join(f"{key}={str(value).lower()}" for key, value in settings.items())
        console.print(f"--preset {name}: {pairs}", markup=False)
