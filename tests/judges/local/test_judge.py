import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.cases import each_case

from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import outcome_of
from ragstone.judges.cache import CachedJudge
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.local.model import LocalSettings
from ragstone.types.claim import Label, Verdict
from ragstone.types.questions import DetectAbstention, ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure, Reply

CONTEXTS = ("The phone weighs 172 grams. The battery lasts two days.", "The box holds a cable.")
LONG = ("The screen is bright. " * 60).strip()


async def asked(
    folder: Path, claims: Sequence[str], contexts: Sequence[str] = CONTEXTS, **settings: object
) -> tuple[Verdict, ...]:
    async with EntailmentJudge(str(folder), LocalSettings.model_validate(settings)) as judge:
        question = VerifyClaims(claims=tuple(claims), contexts=tuple(contexts))
        return (await judge.answer(question)).value


@each_case("kind", ["nli", "pair", "one", "tokens"])
async def test_every_shape_of_head_tells_a_backed_claim_from_another(make_model, kind: str) -> None:
    claims = ["The phone weighs 172 grams", "The radio", "The battery lasts two days"]
    verdicts = await asked(make_model(kind), claims)
    labels = [Label.SUPPORTED, Label.NOT_ENOUGH_INFO, Label.SUPPORTED]
    assert [each.label for each in verdicts] == labels
    backed, other, last = verdicts
    assert backed.confidence == pytest.approx(0.98, abs=0.02)
    assert "P(supported) is 0.0" in str(other.reason)
    [evidence] = last.evidence
    assert evidence.verified
    assert evidence.quote == "The battery lasts two days."
    assert CONTEXTS[evidence.context][evidence.start : evidence.end] == evidence.quote
    assert await asked(make_model(kind), claims, batch=1) == verdicts
    assert await asked(make_model(kind, size=(4, 40)), claims, length=40, batch=4) == verdicts
    folder = make_model(kind, output="chances", chances=True)
    assert await asked(folder, claims, output="chances", probabilities="yes") == verdicts


async def test_three_labels_tell_a_contradiction(make_model) -> None:
    contexts, claims = ["The phone weighs not 172 grams."], ["The phone weighs 172 grams"]
    [verdict] = await asked(make_model("nli"), claims, contexts)
    assert verdict.label is Label.CONTRADICTED
    assert verdict.reason == "P(contradicted) is 0.98"
    assert verdict.confidence == pytest.approx(0.98, abs=0.01)
    contexts.insert(0, f"The phone weighs 172 grams. {LONG}")  # supported in one window
    [verdict] = await asked(make_model("nli"), claims, contexts, length=32)
    assert verdict.label is Label.SUPPORTED


@each_case("kind", ["nli", "tokens"])
async def test_evidence_at_the_end_of_a_long_context_is_found(make_model, kind: str) -> None:
    context = f"{LONG} The phone weighs 172 grams."
    claims = ["The phone weighs 172 grams", "The phone weighs 180 grams"]
    found, other = await asked(make_model(kind), claims, [context], length=32)
    assert found.label is Label.SUPPORTED
    assert found.evidence[0].quote == "The phone weighs 172 grams."
    assert found.evidence[0].start == len(LONG) + 1
    assert other.label is Label.NOT_ENOUGH_INFO
    assert "the highest of " in str(other.reason)


async def test_the_order_of_contexts_changes_no_verdict_unless_they_are_joined(make_model) -> None:
    folder = make_model("nli")
    claims = ["The phone weighs 172 grams", "The phone holds a cable in the box"]
    contexts = ["The phone weighs 172 grams.", "The box holds a cable.", "The phone in."]
    there, back = [await asked(folder, claims, order) for order in (contexts, contexts[::-1])]
    assert [each.confidence for each in there] == [each.confidence for each in back]
    assert [each.label for each in there] == [each.label for each in back]
    joined = await asked(folder, claims, contexts, join=True)
    labels = [each.label for each in (there[1], joined[1])]
    assert labels == [Label.NOT_ENOUGH_INFO, Label.SUPPORTED]


class Around:
    """onnxruntime's session, and how many pairs each run had; it fails or puts out no number
    where a token is claimed."""

    def __init__(self, session: object, ill: int = -1, *, fails: bool = False) -> None:
        self._session, self._ill, self._fails, self.runs = session, ill, fails, list[int]()

    def run(self, names: Sequence[str], feeds: dict) -> list:
        self.runs.append(len(feeds["input_ids"]))
        ill = (feeds["input_ids"] == self._ill).any(axis=1)
        if self._fails and ill.any():
            raise RuntimeError("an index is out of bounds")
        [logits] = self._session.run(names, feeds)
        logits[ill] = np.nan
        return [logits]

    def __getattr__(self, name: str) -> object:
        return getattr(self._session, name)


@pytest.mark.parametrize(("scales", "runs"), [(False, [16, 16]), (True, [1] * 32)])
async def test_what_is_asked_at_once_goes_through_the_model_together(make_model, scales, runs):
    """Unless the model finds its scales as it runs: then it is run pair by pair."""
    judge = EntailmentJudge(str(make_model("nli", scales=scales)))
    questions = [
        VerifyClaims(claims=(f"The phone weighs {n} grams", "The box"), contexts=CONTEXTS)
        for n in range(8)
    ]
    async with judge:
        judge._model._session = session = Around(judge._model._session)
        await asyncio.gather(*map(judge.answer, questions))
    assert session.runs == runs  # 8 questions, 2 claims, 2 contexts
    told = EntailmentJudge(str(make_model("nli", scales=scales)), LocalSettings(batch=8))
    assert (told.identity("verify_claims") != judge.identity("verify_claims")) is scales


@pytest.mark.parametrize("fails", [True, False])
async def test_a_pair_that_cannot_be_judged_fails_no_other(make_model, fails: bool) -> None:
    judge = EntailmentJudge(str(make_model("nli")))
    claims = ["The phone weighs 172 grams", "The radio", "The battery lasts two days"]
    async with judge:
        radio = judge._model.pair("radio", "").ids[1]
        judge._model._session = Around(judge._model._session, radio, fails=fails)
        outcomes = await asyncio.gather(
            *(outcome_of(judge, VerifyClaims(claims=(c,), contexts=CONTEXTS)) for c in claims)
        )
    assert [type(each) for each in outcomes] == [Reply, Failure, Reply]
    assert outcomes[1].cause is Cause.MALFORMED
    assert [outcomes[n].value[0].label for n in (0, 2)] == [Label.SUPPORTED] * 2


async def test_a_question_that_cannot_be_put_to_the_model_says_so(make_model) -> None:
    async with EntailmentJudge(str(make_model("nli"))) as judge:
        reply = await judge.answer(VerifyClaims(claims=("It charges",), contexts=(" ",)))
    assert reply.value[0].reason == "there is no text"
    assert reply.usage.calls == 0
    with pytest.raises(JudgeError, match="more than half of the 32") as caught:
        await asked(make_model("nli"), ["the phone " * 20], length=32)
    assert caught.value.cause is Cause.TRUNCATED


async def test_claims_are_sentences_and_nothing_else_is_answered(make_model) -> None:
    async with EntailmentJudge(str(make_model("nli"))) as judge:
        question = ExtractClaims(query="q", response="The phone charges. The box holds a cable.")
        assert len((await judge.answer(question)).value) == 2
        with pytest.raises(QuestionNotSupportedError):
            await judge.answer(DetectAbstention(query="q", response="r"))
    assert not judge.takes("detect_abstention")


async def test_a_template_makes_one_text_of_both_and_need_not_be_named(make_model) -> None:
    folder, claims = make_model("tokens"), ["The phone has radio"]
    [pair] = await asked(folder, claims)
    (folder / "ask.txt").write_text("the {context} is {claim} .\n")
    [said] = await asked(folder, claims, template="ask.txt")
    assert "“has radio”" not in str(said.reason)  # one text: all of it is the context's
    assert (said.label, pair.label) == (Label.SUPPORTED, Label.NOT_ENOUGH_INFO)
    assert await asked(folder, claims) == (said,)


async def test_replies_are_kept_until_a_file_of_the_model_changes(make_model, tmp_path) -> None:
    folder = make_model("nli")
    question = VerifyClaims(claims=("The phone weighs 172 grams",), contexts=CONTEXTS)

    async def usage(**settings: object) -> tuple[int, int]:
        inner = EntailmentJudge(str(folder), LocalSettings.model_validate(settings))
        async with CachedJudge(inner, tmp_path / "replies.db") as judge:
            reply = await judge.answer(question)
        assert reply.usage.calls == 0
        return reply.usage.local_calls, reply.usage.cached

    assert await usage() == (1, 0)
    assert await usage(threads=1, batch=1) == (0, 1)
    assert await usage(threshold=0.9) == (1, 0)
    config = folder / "config.json"
    config.write_text(config.read_text() + "\n")
    assert await usage() == (1, 0)
