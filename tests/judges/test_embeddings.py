"""The judge is asked over a socket of loopback, where each text has the vector of the test."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import pytest
from aiohttp import web
from tests.cases import each_case

import ragstone
from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.embeddings import EmbeddingJudge
from ragstone.judges.llm.model import Price
from ragstone.judges.llm.openai import PROVIDERS, OpenAICompatibleModel
from ragstone.metrics.responses import AnswerSimilarity, ResponseRelevancy
from ragstone.results.run import Run
from ragstone.types.questions import ExtractClaims, TextSimilarity
from ragstone.types.reply import JudgeFailureError, Usage

EMBED, CHAT = "/v1/embeddings", "/v1/chat/completions"
# 3-4-5 triangles: east.north = 3*4 + 4*3 = 24 of 25; west is the way back
VECTORS = {"east": [4, 3], "north": [3, 4], "west": [-4, -3], "up": [0.6, -0.8]}
QUESTION = TextSimilarity(text="east", others=("north", "west", "up", "north", "east"))
PRICE = Price((0.001, 0, 0, 0))
SAMPLES = [
    {"query": f"What of {name}?", "response": f"It lies {name}.", "reference": f"To the {name}."}
    | {"contexts": []}
    for name in ("east", "north", "west-south")
]

Serve = Callable[[web.Request], object]


def embeds(vectors: Mapping[str, Sequence[float]] | None = None, **more: object) -> Serve:
    """Answer with the vector of each text, or one made of its length."""

    async def answer(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        made = vectors or {text: [len(text), 1] for text in texts}
        data = [{"index": at, "embedding": made[text]} for at, text in enumerate(texts)]
        return web.json_response({"data": data, "usage": {"prompt_tokens": 7}} | more)

    return answer


def embedder(url: str, **limits: object) -> OpenAICompatibleModel:
    return OpenAICompatibleModel(
        PROVIDERS["openai"],
        "e",
        caller=RetryingCaller(Limits(**limits)),
        timeout=5,
        temperature=None,
        base_url=f"{url}/v1",
    )


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("GROQ_API_KEY", raising=False)


@pytest.fixture
async def judge(faulty) -> AsyncIterator[EmbeddingJudge]:
    async with EmbeddingJudge(embedder(faulty.url, retries=0), price=PRICE) as judge:
        yield judge


async def test_the_worked_example(faulty, judge) -> None:
    faulty.script(EMBED, embeds(VECTORS))
    reply = await judge.answer(QUESTION)
    assert reply.value == pytest.approx((0.96, -1.0, 0.0, 0.96, 1.0))
    assert reply.value[4] == 1.0
    assert reply.usage == Usage(calls=1, prompt_tokens=7, cost_usd=pytest.approx(0.007))
    (call,) = faulty.calls
    assert call.json["input"] == ["east", "north", "west", "up"], "each text is sent once"
    async with EmbeddingJudge(embedder(faulty.url)) as unpriced:
        assert (await unpriced.answer(QUESTION)).usage.cost_usd is None


@each_case("others", [(), ("east",), ("east", "east")])
async def test_where_all_texts_are_equal_nobody_is_asked(faulty, judge, others) -> None:
    reply = await judge.answer(TextSimilarity(text="east", others=others))
    assert (reply.value, reply.usage) == ((1.0,) * len(others), Usage())
    assert faulty.calls == []


@each_case(("text", "other"), [("", "east"), ("east", " \n"), ("", "")])
async def test_a_blank_text_has_no_likeness(faulty, judge, text: str, other: str) -> None:
    with pytest.raises(JudgeError, match="one of the texts is blank") as caught:
        await judge.answer(TextSimilarity(text=text, others=(other,)))
    assert (caught.value.cause, caught.value.tries) == (Cause.MALFORMED, 0)
    assert faulty.calls == []


@each_case("size", [1e-320, 1e-200, 1 / 3, 1e300])
async def test_the_size_of_a_vector_does_not_matter(faulty, judge, size: float) -> None:
    for vector, expected in (([3 * size, 4 * size], 0.96), ([-4 * size, -3 * size], -1.0)):
        faulty.script(EMBED, embeds({"east": [4, 3], "north": vector}))
        (value,) = (await judge.answer(TextSimilarity(text="east", others=("north",)))).value
        assert value == pytest.approx(expected, abs=1e-3)
        assert abs(value) <= 1.0


@each_case(
    ("north", "said"),
    [([0, 0], "an embedding is all zeros"), ([1, 2, 3], "embeddings of 2 and 3 numbers cannot be")],
)
async def test_vectors_without_an_angle_are_malformed_and_were_paid(faulty, judge, north, said):
    faulty.script(EMBED, embeds({"east": [4, 3], "north": north}))
    with pytest.raises(JudgeFailureError, match=said) as caught:
        await judge.answer(TextSimilarity(text="east", others=("north",)))
    failure = caught.value.failure
    assert (failure.cause, failure.usage.calls, failure.usage.prompt_tokens) == ("malformed", 1, 7)
    assert failure.usage.cost_usd == pytest.approx(0.007)


async def test_a_cost_is_estimated_where_no_tokens_are_told(faulty) -> None:
    faulty.script(EMBED, embeds(VECTORS, usage=None))
    budget = Budget(max_cost=0.003)
    async with EmbeddingJudge(embedder(faulty.url), price=PRICE, budget=budget) as judge:
        usage = (await judge.answer(TextSimilarity(text="east", others=("north", "up")))).usage
    assert usage == Usage(calls=1, cost_usd=pytest.approx(0.004))  # "north" is taken for 2 tokens
    assert budget.spent


async def test_it_only_compares_texts_and_model_and_place_make_the_identity() -> None:
    judges = [EmbeddingJudge(embedder(url)) for url in ("http://a", "http://a", "http://b")]
    one, same, other = [judge.identity("text_similarity") for judge in judges]
    assert one == same != other
    judge = judges[0]
    assert (judge.identity("extract_claims"), judge.name) == (None, "openai:e")
    assert judge.description == "cosines of embeddings at http://a/v1"
    assert judge.kinds == {"text_similarity"}
    with pytest.raises(QuestionNotSupportedError, match="it only compares texts"):
        await judge.answer(ExtractClaims(query="q", response="r"))


async def run(faulty, *metrics: object, **options: object) -> Run:
    settings = {"judge": "openai:m", "embedding_model": "openai:e", "base_url": f"{faulty.url}/v1"}
    return await ragstone.evaluate_async(SAMPLES, metrics=metrics, **settings | options)


def says(behave, answer: object) -> Serve:
    content = json.dumps(answer)
    return behave.reply({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})


async def test_two_calls_a_sample_the_first_time_and_none_the_second(faulty, behave) -> None:
    queries = {"1": "Where is it?", "2": "Which way?", "3": "What lies there?"}
    faulty.script(CHAT, says(behave, {"queries": queries, "commits": True}))
    faulty.script(EMBED, embeds())
    told = [await run(faulty, ResponseRelevancy()) for _ in range(2)]
    assert (len(faulty.called(CHAT)), len(faulty.called(EMBED))) == (3, 3)
    assert (told[0].usage().calls, told[1].usage().cached) == (6, 6)
    assert {len(call.json["input"]) for call in faulty.called(EMBED)} == {4}
    first, second = [[row.scores["response_relevancy"].value for row in each.rows] for each in told]
    assert first == second
    assert all(0 < value <= 1 for value in first)


async def test_replies_hold_cosines_and_no_vectors(faulty) -> None:
    faulty.script(EMBED, embeds())
    told = await run(faulty, AnswerSimilarity(), max_calls=2, concurrency=1)
    for row in told.rows[:2]:
        (exchange,) = row.exchanges
        assert exchange.outcome.value == (pytest.approx(row.scores["answer_similarity"].value),)
        assert exchange.outcome.raw is None
    assert len(faulty.calls) == told.usage().calls == 2
    assert told.stopped, "embeddings spend the judge's budget"
