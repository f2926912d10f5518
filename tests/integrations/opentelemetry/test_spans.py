import asyncio
from collections.abc import Callable

import pytest
from opentelemetry import trace
from tests.cases import each_case

from ragstone.errors import Cause, UsageError
from ragstone.evaluation.runner import evaluate, evaluate_async
from ragstone.integrations.opentelemetry import OpenTelemetry, tracing_of_program
from ragstone.judges.base import ScriptedJudge
from ragstone.types.claim import Claim
from ragstone.types.reply import Failure, Reply, Usage

SECRETS = ("SECRETQUERY", "SECRETRESPONSE", "SECRETCONTEXT", "SECRETREFERENCE", "SECRETREASON")
SAMPLE = {
    "id": "a7",
    "query": "SECRETQUERY?",
    "response": "It is SECRETRESPONSE. It is red.",
    "contexts": [{"id": "1", "text": "SECRETCONTEXT is red."}],
    "reference": "SECRETREFERENCE",
    "relevance": ["1"],
}


def scripted(**answers: object) -> ScriptedJudge:
    claims = [{"text": "SECRETRESPONSE"}, {"text": "It is red."}]
    verdicts = [{"label": "SUPPORTED", "reason": "SECRETREASON"}, {"label": "CONTRADICTED"}]
    return ScriptedJudge({"extract_claims": claims, "verify_claims": verdicts, **answers})


def test_a_sample_has_one_span_with_its_usage(kept, tracing: OpenTelemetry) -> None:
    usage = Usage(calls=2, retries=1, prompt_tokens=70, completion_tokens=9, cost_usd=0.25)
    judge = scripted(extract_claims=Reply((Claim(text="a"), Claim(text="b")), usage, attempts=2))
    run = evaluate([SAMPLE], metrics="faithfulness", judge=judge, tracing=tracing)
    assert [span.name for span in kept.spans] == ["ragstone sample"]
    told = kept.told("ragstone sample")
    assert told["ragstone.run.id"] == run.manifest.run_id
    assert (told["ragstone.sample.id"], told["ragstone.sample.index"]) == ("a7", 0)
    assert told["ragstone.sample.questions"] == 2
    names = ("calls", "retries", "input_tokens", "output_tokens", "cost_usd")
    assert [told[f"ragstone.usage.{name}"] for name in names] == [3, 1, 70, 9, 0.25]


def test_scores_are_events_by_the_convention(kept, tracing: OpenTelemetry) -> None:
    metrics = ["hit", "faithfulness:ragaliq", "citation_recall"]
    evaluate([SAMPLE], metrics=metrics, judge=scripted(), tracing=tracing)
    [sample] = kept.named("ragstone sample")
    assert not sample.events
    own = (sample.context.trace_id, sample.context.span_id)
    assert {(each.log_record.trace_id, each.log_record.span_id) for each in kept.events} == {own}
    hit, faithful = (kept.scores()[name] for name in ("hit@5", "faithfulness:ragaliq"))
    assert (hit["ragstone.sample.id"], hit["ragstone.metric.state"]) == ("a7", "scored")
    assert hit["gen_ai.evaluation.score.value"] == 1.0
    assert "gen_ai.evaluation.score.label" not in hit
    assert faithful["gen_ai.evaluation.score.value"] == 0.5
    assert faithful["gen_ai.evaluation.score.label"] == "fail"


def test_a_score_of_a_span_belongs_to_that_span(kept, tracing: OpenTelemetry) -> None:
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    rows = [
        {**SAMPLE, "id": "read", "trace_id": trace_id, "span_id": f"0x{span_id}"},
        {**SAMPLE, "id": "other", "trace_id": "not hex", "span_id": "1"},
        {**SAMPLE, "id": "zero", "trace_id": "0", "span_id": "0"},
    ]
    evaluate(rows, metrics="hit", tracing=tracing)

    def place(thing) -> tuple[str, tuple[int, int]]:
        return thing.attributes["ragstone.sample.id"], (thing.trace_id, thing.span_id)

    places = dict(place(event.log_record) for event in kept.events)
    spans = kept.named("ragstone sample")
    own = {
        span.attributes["ragstone.sample.id"]: (span.context.trace_id, span.context.span_id)
        for span in spans
    }
    assert places == {**own, "read": (int(trace_id, 16), int(span_id, 16))}


def test_a_failed_score_has_its_cause_and_no_number(kept, tracing: OpenTelemetry) -> None:
    judge = scripted(verify_claims=Failure(Cause.REFUSAL, "it said: SECRETREASON"))
    evaluate([SAMPLE], metrics="faithfulness", judge=judge, tracing=tracing)
    [sample] = kept.named("ragstone sample")
    told = dict(kept.scores()["faithfulness"])
    assert told.pop("ragstone.run.id")
    assert told == {
        "gen_ai.evaluation.name": "faithfulness",
        "ragstone.sample.id": "a7",
        "ragstone.metric.state": "failed",
        "error.type": "refusal",
    }
    assert sample.status.status_code.name == "UNSET"


@each_case("value", ["", "false", "no_content", "event_only"])
def test_no_text_leaves_unless_asked_for(
    kept, telling: Callable[[str], OpenTelemetry], value: str
) -> None:
    failing = scripted(verify_claims=Failure(Cause.REFUSAL, "it said: SECRETREASON"))
    for judge in (scripted(), failing):
        evaluate([SAMPLE], metrics="faithfulness", judge=judge, tracing=telling(value))
    assert "ragstone sample" in kept.everything()
    assert not [secret for secret in SECRETS if secret in kept.everything()]


@each_case("value", ["true", "SPAN_ONLY", "span_and_event"])
def test_texts_stand_in_the_samples_span_where_asked_for(
    kept, telling: Callable[[str], OpenTelemetry], value: str
) -> None:
    evaluate([SAMPLE], metrics="faithfulness:ragaliq", judge=scripted(), tracing=telling(value))
    told = kept.named("ragstone sample")[-1].attributes
    assert told["ragstone.sample.query"] == "SECRETQUERY?"
    assert told["ragstone.sample.contexts"] == ("SECRETCONTEXT is red.",)
    assert told["ragstone.sample.reference"] == "SECRETREFERENCE"
    assert "0.5" in str(kept.events[-1].log_record.attributes["gen_ai.evaluation.explanation"])


def test_samples_of_different_callers_are_children_of_the_callers_span(
    kept, tracing: OpenTelemetry
) -> None:
    tracer = kept.provider.get_tracer("host")
    with tracer.start_as_current_span("host"):
        evaluate([SAMPLE], metrics="faithfulness", tracing=tracing)
        asyncio.run(evaluate_async([SAMPLE], metrics="faithfulness", tracing=tracing))
    evaluate([SAMPLE], metrics="faithfulness", tracing=tracing)
    parents = [kept.parent(span) for span in kept.named("ragstone sample")]
    assert [parent and parent.name for parent in parents] == ["host", "host", None]


def test_samples_that_are_only_ranked_have_spans_too_and_no_number_changes(
    kept, tracing: OpenTelemetry
) -> None:
    samples = [{**SAMPLE, "id": f"s{n}"} for n in range(3)]
    for metrics in ("all", ["hit", "recall"]):
        before, events = len(kept.spans), len(kept.events)
        plain = evaluate(samples, metrics=metrics)
        watched = evaluate(samples, metrics=metrics, tracing=tracing)
        assert watched.summary() == plain.summary()
        assert watched.manifest.identity == plain.manifest.identity
        assert len(kept.spans) - before == 3
    ids = [event.log_record.attributes["ragstone.sample.id"] for event in kept.events[events:]]
    assert sorted(ids) == ["s0", "s0", "s1", "s1", "s2", "s2"]


def test_an_error_that_ends_the_run_ends_its_spans(kept, tracing: OpenTelemetry) -> None:
    def broken(asked: object) -> object:
        raise UsageError("the key SECRETREASON was rejected")

    judge = scripted(extract_claims=broken)
    with pytest.raises(UsageError):
        evaluate([SAMPLE], metrics="faithfulness", judge=judge, tracing=tracing)
    assert [span.attributes["error.type"] for span in kept.spans] == ["UsageError"]
    assert "SECRETREASON" not in kept.everything()


@pytest.mark.usefixtures("of_the_program")
def test_a_provider_that_is_set_up_is_used_and_left_as_it_is(kept) -> None:
    evaluate([SAMPLE], metrics="faithfulness", tracing=tracing_of_program())
    with trace.get_tracer("host").start_as_current_span("afterwards"):
        pass
    assert [span.name for span in kept.spans][-2:] == ["ragstone sample", "afterwards"]
