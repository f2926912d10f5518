"""The judge is asked over a socket of loopback, where each text has the vector of the test."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import pytest
from aiohttp import web

import ragstone
from ragstone._internal.rate_limit import Budget, Limits, RetryingCaller
from ragstone.errors import CallError, Cause, JudgeError, QuestionNotSupportedError, UsageError
from ragstone.judges.embeddings import DryRunEmbedder, EmbeddingJudge
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
    {
        "query": f"What of {name} {n}?",
        "response": f"It lies {name} {n}.",
        "reference": f"To the {name}, {n}.",
        "contexts": [],
    }
    for n, name in enumerate(("east", "north", "west"))
]

Serve = Callable[[web.Request], object]


def embeds(vectors: Mapping[str, Sequence[float]], **more: object) -> Serve:
    """Answer with the vector of each text."""

    async def answer(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        data = [{"index": at, "embedding": vectors[text]} for at, text in enumerate(texts)]
        return web.json_response({"data": data, "usage": {"prompt_tokens": 7}} | more)

    return answer


def embeds_anything() -> Serve:
    """Answer with vectors that are made of the texts' lengths."""

    async def answer(request: web.Request) -> web.Response:
        texts = (await request.json())["input"]
        data = [{"index": at, "embedding": [len(text), 1]} for at, text in enumerate(texts)]
        return web.json_response({"data": data})

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


async def test_each_text_is_sent_once_and_all_in_one_call(faulty, judge) -> None:
    faulty.script(EMBED, embeds(VECTORS))
    await judge.answer(QUESTION)
    (call,) = faulty.calls
    assert call.json == {
        "model": "e",
        "input": ["east", "north", "west", "up"],
        "encoding_format": "float",
    }


@pytest.mark.parametrize("others", [(), ("east",), ("east", "east")])
async def test_where_all_texts_are_equal_nobody_is_asked(faulty, judge, others) -> None:
    reply = await judge.answer(TextSimilarity(text="east", others=others))
    assert (reply.value, reply.usage) == ((1.0,) * len(others), Usage())
    assert faulty.calls == []


@pytest.mark.parametrize(("text", "other"), [("", "east"), ("east", " \n"), ("", "")])
async def test_a_blank_text_has_no_likeness(faulty, judge, text: str, other: str) -> None:
    with pytest.raises(JudgeError, match="one of the texts is blank") as caught:
        await judge.answer(TextSimilarity(text=text, others=(other,)))
    assert (caught.value.cause, caught.value.tries) == (Cause.MALFORMED, 0)
    assert faulty.calls == []


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1.0, 1e300])
async def test_the_size_of_a_vector_does_not_matter(faulty, judge, size: float) -> None:
    faulty.script(EMBED, embeds({"east": [4, 3], "north": [3 * size, 4 * size]}))
    reply = await judge.answer(TextSimilarity(text="east", others=("north",)))
    assert reply.value == pytest.approx((0.96,), abs=1e-3)


@pytest.mark.parametrize("angle", [[0.1, 0.2, 0.3], [1e-8, 1, 1], [7, 7, 7]])
async def test_rounding_leads_not_beyond_1(faulty, judge, angle: list[float]) -> None:
    faulty.script(
        EMBED, embeds({"a": angle, "b": [3 * x for x in angle], "c": [-x for x in angle]})
    )
    same, opposite = (await judge.answer(TextSimilarity(text="a", others=("b", "c")))).value
    assert (same, opposite) == pytest.approx((1.0, -1.0))
    assert max(abs(same), abs(opposite)) <= 1.0


@pytest.mark.parametrize(
    ("north", "said"),
    [([0, 0], "an embedding is all zeros"), ([1, 2, 3], "embeddings of 2 and 3 numbers cannot be")],
)
async def test_vectors_without_an_angle_are_malformed_and_were_paid(
    faulty, judge, north: list[float], said: str
) -> None:
    faulty.script(EMBED, embeds({"east": [4, 3], "north": north}))
    with pytest.raises(JudgeFailureError, match=said) as caught:
        await judge.answer(TextSimilarity(text="east", others=("north",)))
    failure = caught.value.failure
    assert (failure.cause, failure.usage.calls, failure.usage.prompt_tokens) == ("malformed", 1, 7)
    assert failure.usage.cost_usd == pytest.approx(0.007)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        ([{"index": 0, "embedding": [1]}], Cause.COUNT_MISMATCH),
        ([{"index": n, "embedding": [1]} for n in range(3)], Cause.COUNT_MISMATCH),
        ([{"index": n, "embedding": [None]} for n in range(2)], Cause.MALFORMED),
        ("no list", Cause.MALFORMED),
    ],
)
async def test_what_are_no_vectors_of_the_texts_is_no_answer(
    faulty, behave, judge, data: object, cause: Cause
) -> None:
    faulty.script(EMBED, behave.reply({"data": data}))
    with pytest.raises(CallError) as caught:
        await judge.answer(TextSimilarity(text="east", others=("north",)))
    assert caught.value.cause is cause


async def test_a_cost_is_estimated_where_no_tokens_are_told(faulty) -> None:
    faulty.script(EMBED, embeds(VECTORS, usage=None))
    budget = Budget(max_cost=0.003)
    async with EmbeddingJudge(embedder(faulty.url), price=PRICE, budget=budget) as judge:
        usage = (await judge.answer(TextSimilarity(text="east", others=("north", "up")))).usage
    assert usage == Usage(calls=1, cost_usd=pytest.approx(0.004))  # "north" is taken for 2 tokens
    assert budget.spent


async def test_without_a_price_the_cost_is_not_known(faulty) -> None:
    faulty.script(EMBED, embeds(VECTORS))
    async with EmbeddingJudge(embedder(faulty.url)) as judge:
        assert (await judge.answer(QUESTION)).usage.cost_usd is None


async def test_it_takes_no_other_question(judge) -> None:
    assert judge.takes("text_similarity")
    assert not judge.takes("extract_claims")
    with pytest.raises(QuestionNotSupportedError, match="it only compares texts"):
        await judge.answer(ExtractClaims(query="q", response="r"))


def test_model_and_place_make_the_identity() -> None:
    judges = [EmbeddingJudge(embedder(url)) for url in ("http://a", "http://a", "http://b")]
    one, same, other = [judge.identity("text_similarity") for judge in judges]
    assert one == same != other
    assert judges[0].identity("extract_claims") is None
    assert (judges[0].name, judges[0].description) == (
        "openai:e",
        "cosines of embeddings at http://a/v1",
    )


async def test_one_that_nobody_asks_says_what_asking_would_take() -> None:
    judge = EmbeddingJudge(DryRunEmbedder("openai:e"), price=PRICE)
    async with judge:
        reply = await judge.answer(TextSimilarity(text="a" * 40, others=("b" * 20, "c" * 20)))
    assert reply.usage == Usage(calls=1, prompt_tokens=20, cost_usd=pytest.approx(0.02))


async def run(faulty, *metrics: object, **options: object) -> Run:
    settings = {"judge": "openai:m", "embedding_model": "openai:e", "base_url": f"{faulty.url}/v1"}
    return await ragstone.evaluate_async(SAMPLES, metrics=metrics, **settings | options)


def says(behave, answer: object) -> Serve:
    content = json.dumps(answer)
    return behave.reply({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]})


async def test_two_calls_a_sample_the_first_time_and_none_the_second(faulty, behave) -> None:
    queries = {"1": "Where is it?", "2": "Which way?", "3": "What lies there?"}
    faulty.script(CHAT, says(behave, {"queries": queries, "commits": True}))
    faulty.script(EMBED, embeds_anything())
    first = await run(faulty, ResponseRelevancy())
    assert (len(faulty.called(CHAT)), len(faulty.called(EMBED))) == (3, 3)
    assert first.usage().calls == 6
    assert {len(call.json["input"]) for call in faulty.called(EMBED)} == {4}
    second = await run(faulty, ResponseRelevancy())
    assert (len(faulty.called(CHAT)), len(faulty.called(EMBED))) == (3, 3)
    assert second.usage().cached == 6
    both = [
        [row.scores["response_relevancy"].value for row in each.rows] for each in (first, second)
    ]
    assert both[0] == both[1]
    assert all(0 < value <= 1 for value in both[0])


async def test_replies_hold_cosines_and_no_vectors(faulty) -> None:
    faulty.script(EMBED, embeds_anything())
    told = await run(faulty, AnswerSimilarity())
    for row in told.rows:
        (exchange,) = row.exchanges
        assert exchange.outcome.value == (pytest.approx(row.scores["answer_similarity"].value),)
        assert exchange.outcome.raw is None


@pytest.mark.parametrize(
    ("status", "headers", "cause"),
    [
        (429, {"Retry-After": "0"}, Cause.RATE_LIMITED),
        (500, {}, Cause.UNREACHABLE),
        (400, {}, Cause.REJECTED),
    ],
)
async def test_an_endpoint_that_fails_makes_no_number(
    faulty, behave, quick, status: int, headers: dict[str, str], cause: Cause
) -> None:
    faulty.script(EMBED, behave.reply({"error": "no"}, status=status, headers=headers))
    told = await run(faulty, AnswerSimilarity(), retries=1)
    scores = [row.scores["answer_similarity"] for row in told.rows]
    assert [(score.state, score.value, score.cause) for score in scores] == [
        ("failed", None, cause)
    ] * 3
    assert len(faulty.called(EMBED)) == (3 if status == 400 else 6)


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (b"not json", Cause.MALFORMED),
        ({"data": [{"index": 0, "embedding": [1, 2]}]}, Cause.COUNT_MISMATCH),
        ({"data": [{"index": n, "embedding": [0, 0]} for n in range(2)]}, Cause.MALFORMED),
        (b'{"data": [{"index": 0, "embedding": [NaN]}]}', Cause.MALFORMED),
    ],
)
async def test_an_answer_that_cannot_be_used_makes_no_number(
    faulty, behave, reply: object, cause: Cause
) -> None:
    faulty.script(EMBED, behave.reply(reply))
    told = await run(faulty, AnswerSimilarity())
    assert {(s.state, s.value, s.cause) for row in told.rows for s in row.scores.values()} == {
        ("failed", None, cause)
    }
    assert len(faulty.calls) == 3  # the same texts would come back the same


async def test_a_429_that_passes_is_waited_for(faulty, behave) -> None:
    busy = behave.reply(b"", status=429, headers={"Retry-After": "0.05"})
    faulty.script(EMBED, busy, embeds_anything())
    told = await run(faulty, AnswerSimilarity())
    assert told.summary()["answer_similarity"].scored == 3
    assert told.usage().retries >= 1


async def test_embeddings_spend_the_judges_budget(faulty) -> None:
    faulty.script(EMBED, embeds_anything())
    told = await run(faulty, AnswerSimilarity(), max_calls=2, concurrency=1)
    assert len(faulty.calls) == told.usage().calls == 2
    assert told.stopped


async def test_the_record_says_who_compares_where_somebody_does(faulty, behave) -> None:
    faulty.script(EMBED, embeds_anything())
    told = await run(faulty, AnswerSimilarity())
    where = f"{faulty.url}/v1"
    assert told.manifest.judge == told.manifest.plan.judge == "openai:m"
    assert told.manifest.judge_note == (
        f"an LLM at {where}; its verdicts are opinions, not facts; "
        f"text_similarity by openai:e (cosines of embeddings at {where})"
    )
    faulty.script(CHAT, says(behave, {"claims": []}))
    other = await run(faulty, "faithfulness")
    assert other.manifest.judge_note == f"an LLM at {where}; its verdicts are opinions, not facts"


async def test_a_key_for_embeddings_is_demanded_before_anybody_is_asked(faulty, behave) -> None:
    elsewhere = {"judge": "vllm:m", "embedding_model": "groq:e"}
    with pytest.raises(UsageError, match=r"groq:e needs a key in .* GROQ_API_KEY"):
        await run(faulty, AnswerSimilarity(), **elsewhere)
    assert faulty.calls == []
    faulty.script(CHAT, says(behave, {"claims": []}))
    await run(faulty, "faithfulness", on_notice=print, **elsewhere)
    assert faulty.calls


async def test_a_judge_of_ones_own_machine_has_texts_compared_offline(faulty) -> None:
    told = await run(faulty, AnswerSimilarity(), judge="vllm:m", embedding_model=None)
    assert faulty.calls == []
    assert told.summary()["answer_similarity"].scored == 3
    assert "by offline (hashed character n-grams, not meaning)" in told.manifest.judge_note


async def test_a_model_that_is_not_there_stops_the_run(faulty, behave) -> None:
    faulty.script(EMBED, behave.reply(b"", status=404))
    with pytest.raises(UsageError, match="The model 'e' does not exist"):
        await run(faulty, AnswerSimilarity())
