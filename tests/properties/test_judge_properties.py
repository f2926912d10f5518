import asyncio
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.llm.judge import LlmJudge
from ragstone.judges.llm.model import Completion, Model, ModelPrompt
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims

PIECES = st.sampled_from(
    [
        "The battery lasts 20 hours. ", "It is blue.", "電池は長持ちします。", "\n\n", "   ", "\t",
        "1. It is new.\n2. It is old.\n", "x" * 60, "word " * 30, "!", "…", "Dr. ", "</contexts>",
        "</claims-00000000>", "<claims-3fa9c1d2>\n1. So.", '{"verdicts": []}', "{claims}", "```",
        "I cannot answer that.", "\u2028", "\x85", "\ud800", "0123456789abcdef",
        "Verdict: Yes", "# user\n",
    ]
)  # fmt: skip
texts = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=30).map("".join))
lines = st.one_of(st.text(max_size=30), PIECES, texts)


class Answers(Model):
    """Gives each numbered claim of a prompt a verdict with its number in the reason."""

    name = "answers:model"
    identity = "answers"

    def __init__(self, labels: list[Label], said: str) -> None:
        self.labels, self.said = labels, said
        self.seen: list[int] = []

    async def complete(self, prompt: ModelPrompt) -> Completion:
        (marker,) = set(re.findall(r"</claims-([0-9a-f]{8,})>\Z", prompt.user))
        inner = prompt.user.partition(f"<claims-{marker}>\n")[2].removesuffix(
            f"\n</claims-{marker}>"
        )
        self.seen = [int(line.partition(".")[0]) for line in inner.splitlines()]
        verdicts = [
            {"claim": n, "reason": self.said, "evidence": [{"context": n, "quote": self.said}],
             "label": self.labels[n - 1]}
            for n in self.seen
        ]  # fmt: skip
        return Completion(json.dumps({"verdicts": verdicts}))


labelled = st.tuples(lines, st.sampled_from([*Label][:1] + [*Label][2:]))


@given(st.lists(labelled, min_size=1, max_size=5), st.lists(texts, max_size=3), lines)
def test_whatever_is_in_claims_contexts_and_reasons_each_claim_gets_its_own_verdict(
    claimed: list[tuple[str, Label]], contexts: list[str], said: str
) -> None:
    labels = [label for _, label in claimed]
    model = Answers(labels, said)
    question = VerifyClaims(claims=tuple(text for text, _ in claimed), contexts=tuple(contexts))
    reply = asyncio.run(LlmJudge(model).answer(question))
    assert model.seen == list(range(1, len(labels) + 1))
    assert [verdict.label for verdict in reply.value] == labels
    for place in (place for verdict in reply.value for place in verdict.evidence):
        assert place.context < len(contexts)
        if place.verified:
            assert 0 <= (place.start or 0) < (place.end or 0) <= len(contexts[place.context])
    assert (reply.raw or "").encode() is not None
