import json
from collections.abc import Callable

import pytest
from opentelemetry import trace

from ragstone.evaluation.runner import evaluate, evaluate_async
from ragstone.integrations.opentelemetry import OpenTelemetry, tracing_of_program

SAMPLE = {"query": "Q?", "response": "It is red.", "contexts": ["It is red."]}


@pytest.mark.usefixtures("of_the_program")
def test_a_provider_that_is_set_up_is_used_and_left_as_it_is(kept) -> None:
    evaluate([SAMPLE], metrics="faithfulness", tracing=tracing_of_program())
    with trace.get_tracer("host").start_as_current_span("afterwards"):
        pass
    assert [span.name for span in kept.spans][-2:] == ["ragstone sample", "afterwards"]


CHAT = "/v1/chat/completions"
SAMPLE_OF_MODEL_CALLS = {
    "query": "SECRETQUERY?",
    "response": "It is red.",
    "contexts": ["SECRETCONTEXT is red."],
    "reference": "It is SECRETREFERENCE.",
}
CLAIMS = {"claims": ["It is red."]}
VERDICTS = {"verdicts": [{"claim": 1, "label": "SUPPORTED", "reason": "SECRETREASON"}]}


def completion(content: object, **more: object) -> dict[str, object]:
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **more}
    usage = {
        "prompt_tokens": 90,
        "completion_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    return {"choices": [choice], "usage": usage}


@pytest.fixture
def evaluated(faulty, tmp_path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Evaluate the sample with a model behind a socket of loopback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-nobody-may-see")

    def make(tracing: OpenTelemetry, **options: object) -> object:
        settings = {"metrics": "faithfulness", "judge": "openai:gpt-4o-mini", "retries": 1}
        return evaluate_async(
            [SAMPLE_OF_MODEL_CALLS],
            base_url=f"{faulty.url}/v1",
            tracing=tracing,
            **settings | options,
        )

    return make


async def test_a_models_call_has_a_span_by_the_convention(
    kept, tracing: OpenTelemetry, evaluated, faulty, behave
) -> None:
    faulty.script(CHAT, behave.reply(completion(CLAIMS)), behave.reply(completion(VERDICTS)))
    await evaluated(tracing)
    first, second = kept.named("chat gpt-4o-mini")
    assert first.kind.name == "CLIENT"
    assert dict(first.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.request.max_tokens": 566,
        "gen_ai.output.type": "json",
        "server.address": "127.0.0.1",
        "server.port": int(faulty.url.rpartition(":")[2]),
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 12,
        "gen_ai.usage.cache_read.input_tokens": 64,
        "gen_ai.usage.reasoning.output_tokens": 5,
        "gen_ai.response.finish_reasons": ("stop",),
        "ragstone.usage.calls": 1,
        "ragstone.usage.retries": 0,
    }
    assert kept.parent(first).name == "ragstone extract_claims"
    assert kept.parent(second).name == "ragstone verify_claims"
    assert kept.parent(kept.parent(first)).name == "ragstone sample"
    assert "SECRET" not in kept.everything()
    assert "sk-a-key" not in kept.everything()


async def test_a_kept_answer_is_a_question_without_a_call(
    kept, tracing: OpenTelemetry, evaluated, faulty, behave
) -> None:
    faulty.script(CHAT, behave.reply(completion(CLAIMS)), behave.reply(completion(VERDICTS)))
    await evaluated(tracing)
    await evaluated(tracing)
    assert len(kept.named("chat")) == 2
    cached = [span.attributes["ragstone.usage.cached"] for span in kept.named("ragstone verify")]
    assert cached == [0, 1]


async def test_prompts_and_replies_stand_in_the_span_where_asked_for(
    kept, telling, evaluated, faulty, behave
) -> None:
    faulty.script(CHAT, behave.reply(completion(CLAIMS)), behave.reply(completion(VERDICTS)))
    await evaluated(telling("span_only"))
    _, verified = kept.named("chat")
    [system] = json.loads(verified.attributes["gen_ai.system_instructions"])
    [asked] = json.loads(verified.attributes["gen_ai.input.messages"])
    [said] = json.loads(verified.attributes["gen_ai.output.messages"])
    assert system["type"] == "text"
    assert asked["role"] == "user"
    assert "SECRETCONTEXT" in asked["parts"][0]["content"]
    assert (said["role"], said["finish_reason"]) == ("assistant", "stop")
    assert json.loads(said["parts"][0]["content"]) == VERDICTS


@pytest.mark.parametrize(
    ("finish", "reason"), [("length", "length"), ("content_filter", "content_filter")]
)
async def test_a_cut_or_refused_reply_has_its_finish_reason(
    kept, tracing: OpenTelemetry, evaluated, faulty, behave, finish: str, reason: str
) -> None:
    faulty.script(CHAT, behave.reply(completion("{", finish_reason=finish)))
    await evaluated(tracing)
    assert kept.named("chat")[0].attributes["gen_ai.response.finish_reasons"] == (reason,)
    [question] = kept.named("ragstone extract_claims")
    assert question.attributes["error.type"] in {"truncated", "refusal"}


@pytest.mark.usefixtures("quick")
async def test_a_call_that_fails_ends_its_span_with_the_cause(
    kept, tracing: OpenTelemetry, evaluated, faulty, behave
) -> None:
    faulty.script(CHAT, behave.reply(b"SECRETREASON", status=500))
    run = await evaluated(tracing)
    [call] = kept.named("chat")
    assert call.attributes["error.type"] == run.rows[0].scores["faithfulness"].cause
    assert call.status.status_code.name == "ERROR"
    assert "SECRETREASON" not in kept.everything()
    question = kept.told("ragstone extract_claims")
    assert (question["ragstone.usage.calls"], question["ragstone.usage.retries"]) == (2, 1)


async def test_embeddings_have_a_span_of_their_own(
    kept, tracing: OpenTelemetry, evaluated, faulty, behave
) -> None:
    vectors = {
        "data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}],
        "usage": {"prompt_tokens": 7},
    }
    faulty.script("/v1/embeddings", behave.reply(vectors))
    await evaluated(tracing, metrics="answer_similarity", embedding_model="openai:small")
    [call] = kept.named("embeddings small")
    assert call.attributes["gen_ai.operation.name"] == "embeddings"
    assert call.attributes["gen_ai.usage.input_tokens"] == 7
    assert kept.parent(call).name == "ragstone text_similarity"
