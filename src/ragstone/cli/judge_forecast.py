"""What a test of a judge would take, and of what, told before anybody is asked."""

import asyncio
from collections.abc import Sequence

from ragstone.judge_test import PassedOver, planned
from ragstone.judge_test.cases import LONGEST, SHORTEST, Case
from ragstone.judge_test.testing import foreseen
from ragstone.judges.counting import LEAST, MOST, Guess
from ragstone.judges.making import make_judge
from ragstone.messages import count
from ragstone.plan import Plan
from ragstone.questions import VerifyClaims
from ragstone.reports.figures import dollars
from ragstone.usage import Usage

LENGTHS = f"{SHORTEST} to {LONGEST} characters"


def forecast(plan: Plan, cases: Sequence[Case], *, wanted: int, named: str) -> str:
    """Say what a test would take at most; nobody is asked."""
    questions = planned(cases)

    def usage(guess: Guess) -> Usage:
        judge = make_judge(plan, asked=[[VerifyClaims.kind]], guess=guess)
        return asyncio.run(foreseen(judge, questions))

    claims = sum(len(case.claims) for case in cases)
    of = count(claims, "claim") if claims >= wanted else f"the {count(claims, 'claim')}"
    said = f"Testing {plan.judge} on {of} of {named}"
    least, most = usage(LEAST), usage(MOST)
    if most.local_calls:
        said += f", at most {count(most.local_calls, 'call')} of a model on this machine"
    if not most.calls:
        return f"{said}: nothing to pay"
    said = f"{said}: at most {count(most.calls, 'call')}"
    if least.calls != most.calls:
        said += f" ({least.calls:,} if all goes well)"
    if plan.max_calls is not None and plan.max_calls < most.calls:
        said += f", of which --max-calls allows {plan.max_calls:,}"
    if most.cost_usd == 0:
        return f"{said}, at no cost"
    if least.cost_usd is None or most.cost_usd is None:
        return f"{said}; no price is known"
    between = f"{dollars(least.cost_usd)} to {dollars(most.cost_usd)}"
    return f"{said}, {between} by list prices (an estimate)"


def passed_over(found: PassedOver) -> str:
    """Say what gave no claim, after what a test would take."""
    told = list(_reasons(found))
    return f". Claims have {LENGTHS}; passed over: {', '.join(told)}" if told else ""


def nothing_to_test(named: str, found: PassedOver) -> str:
    """Say why there is no claim at all, and what to do."""
    told = ", ".join(_reasons(found)) or f"no text in {count(found.rows, 'row')}"
    return (
        f"{named}: no row has contexts and a claim of {LENGTHS} (passed over: {told}); "
        "`ragstone collect` asks a RAG system for answers and contexts, and without DATA the "
        "claims are those of the demo's manuals"
    )


def _reasons(found: PassedOver) -> Sequence[str]:
    told: list[str] = []
    if found.bare:
        told.append(f"{count(found.bare, 'row')} without contexts")
    if found.short:
        told.append(f"{count(found.short, 'shorter sentence')}")
    if found.long:
        told.append(f"{count(found.long, 'longer sentence')}")
    return told
