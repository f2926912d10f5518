"""`ragstone policies`: what a score is in each situation, under each policy."""

import click
from rich.console import Console
from rich.text import Text

from ragstone.errors import Cause
from ragstone.reports.terminal import print_pairs
from ragstone.types.claim import Label
from ragstone.types.policy import POLICIES, PRESETS, Policy, PolicyOutcome
from ragstone.types.score import State


def _shown(outcome: PolicyOutcome, cause: str = "") -> str:
    if outcome.state is State.FAILED and cause:
        return f"{outcome}: {cause}"
    return str(outcome) if outcome.passes else f"{outcome}, never passes"


def outcomes(policy: Policy) -> dict[str, str]:
    unknown = Label.NOT_ENOUGH_INFO
    no_contexts = f"{policy.number([unknown]):.1f}: every claim is {unknown.value}"
    if policy.no_contexts is not None:
        no_contexts = _shown(policy.no_contexts)
    miscounted = f"{State.FAILED.value}: {Cause.COUNT_MISMATCH.value}"
    if (rule := policy.miscounted) is not None:
        made = "mean after truncation" if rule.cut else "mean of those returned"
        made = "1 - (unsupported + missing) / claims" if rule.taken_off else made
        miscounted = f"{made}, flagged; if none: {_shown(rule.nothing)}"
    misread = f"{State.FAILED.value}: {Cause.MALFORMED.value}"
    if policy.misread is not None:
        misread = f"counts as {policy.misread.value}, flagged"
    weights = " / ".join(f"{policy.weights[label]:g}" for label in Label)
    return {
        "response or contexts missing": State.UNDEFINED.value,
        "response is empty": _shown(policy.empty_response),
        "no claims in the response": _shown(policy.no_claims),
        "contexts are an empty list": no_contexts,
        "judge refused": _shown(policy.refused, Cause.REFUSAL.value),
        "no reply (1)": _shown(policy.unanswered, "timeout, etc."),
        "no readable reply (2)": _shown(policy.unreadable, Cause.MALFORMED.value),
        "too few or too many verdicts (2)": miscounted,
        "one label unreadable (2)": misread,
        "otherwise: mean of the weights (3)": (
            "mean probability of support" if policy.probable else weights
        ),
        "threshold": "none" if policy.threshold is None else f"{policy.threshold:g}",
        "range": f"{policy.low:g} to {policy.high:g}",
    }


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
    for policy in POLICIES.values():
        console.print(f"{policy.name}: {policy.source}", markup=False)
        found = outcomes(policy).items()
        print_pairs(((f"  {about}", Text(outcome)) for about, outcome in found), console)
        console.print()
    for note in (*NOTES, ""):
        console.print(note, markup=False)
    for name, settings in PRESETS.items():
        pairs = ", ".join(f"{key}={str(value).lower()}" for key, value in settings.items())
        console.print(f"--preset {name}: {pairs}", markup=False)
