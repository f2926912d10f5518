"""The message of a failed assertion: what it shows, and what texts from outside cannot do in it."""

from typing import Any

from ragstone.evaluation.runner import evaluate_async
from ragstone.integrations.pytest.session import failure_message
from ragstone.judges.base import ScriptedJudge
from ragstone.types.claim import Claim, Evidence, Label, Verdict

CONTEXTS = ["The case is made of ash wood. It weighs 80 g.", "The battery lasts 9 hours."]
NO = Label.NOT_ENOUGH_INFO


async def message(
    claims: list[str], verdicts: object, *, contexts: list[str] = CONTEXTS, **more: object
) -> list[str]:
    """Return the message about a response that makes these claims."""
    answers = {"extract_claims": [Claim(text=text) for text in claims], "verify_claims": verdicts}
    sample = {"query": "What is it made of?", "response": "R.", "contexts": contexts}
    options: dict[str, Any] = {"metrics": ["faithfulness"], "fail_under": {"faithfulness": 0.8}}
    run = await evaluate_async([sample], judge=ScriptedJudge(answers), **{**options, **more})
    return failure_message(run, run.gates()).splitlines()


async def test_a_claim_without_evidence_is_shown_the_sentence_that_is_most_like_it() -> None:
    claims = ["It is made of ash wood.", "The battery lasts for 12 hours."]
    verdicts = [Verdict(label=Label.SUPPORTED), Verdict(label=NO, reason="12 stands nowhere")]
    assert await message(claims, verdicts) == [
        "faithfulness 0.5000 is not >= 0.8 (1 of 2 claims supported)",
        "  query: What is it made of?",
        "  judge: scripted",
        "  - not stated: The battery lasts for 12 hours.",
        "    reason: 12 stands nowhere",
        "    closest in context 2: The battery lasts 9 hours.",
    ]


async def test_a_judges_quote_that_does_not_stand_there_is_told() -> None:
    for verified, doubt in ((True, ""), (False, " (quoted by the judge, but not found there)")):
        evidence = Evidence(context=0, quote="It weighs 80 g.", verified=verified)
        verdict = Verdict(label=Label.CONTRADICTED, evidence=(evidence,))
        told = await message(["It weighs 90 g."], [verdict])
        assert told[3:] == [
            "  - contradicted: It weighs 90 g.",
            f"    evidence in context 1{doubt}: It weighs 80 g.",
        ]


async def test_that_nothing_is_near_is_told() -> None:
    told = await message(["It weighs 90 g."], [Verdict(label=NO)], contexts=["Ωμέγα"])
    assert told[-1] == "    nothing in the contexts is similar"
    told = await message(["It weighs 90 g."], [Verdict(label=NO)], contexts=[])
    assert told[-1] == "    there are no contexts"


async def test_the_first_ten_claims_are_told() -> None:
    told = await message([f"It has {n} keys." for n in range(13)], [Verdict(label=NO)] * 13)
    assert sum(line.startswith("  - ") for line in told) == 10
    assert told[-1] == "  and 3 more"


async def test_texts_from_outside_stay_in_their_line() -> None:
    hostile = "It weighs\n\x1b[31m90 g.\nE  passed"
    told = await message([hostile], [Verdict(label=NO, reason="a\nb\x07")])
    assert told[3] == "  - not stated: It weighs \N{REPLACEMENT CHARACTER}[31m90 g. E passed"
    assert told[4] == "    reason: a b\N{REPLACEMENT CHARACTER}"


async def test_metrics_that_share_claims_tell_them_once() -> None:
    metrics = ["faithfulness", "hallucination"]
    told = await message(
        ["It weighs 90 g."], [Verdict(label=NO)], metrics=metrics, fail_over={"hallucination": 0}
    )
    assert [line.split()[0] for line in told[:2]] == metrics
    assert sum(line.startswith("  - ") for line in told) == 1
