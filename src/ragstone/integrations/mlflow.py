"""MLflow: metrics as scorers of `mlflow.genai.evaluate`."""

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Unpack, cast

from ragstone._internal.plugins import check_extra
from ragstone.datasets import samples_of
from ragstone.errors import CallError, Cause, RagstoneError, UsageError
from ragstone.evaluation.runner import ScoringOptions
from ragstone.evaluation.scorer import Scorer
from ragstone.metrics import get
from ragstone.targets.factory import answer_fields
from ragstone.types.sample import Sample
from ragstone.types.score import Score, State

EXPECTED = {"expected_response": "reference"}


def scorer(metric: str, *, name: str | None = None, **options: Unpack[ScoringOptions]) -> Any:
    """Return a scorer for `mlflow.genai.evaluate(data=..., scorers=[...])`.

    A row's inputs and expectations have the names of a data file's columns, such as `question` and
    `reference`; MLflow's `expected_response` is the reference. Its outputs are a text, or a mapping
    with `response` and `contexts`; see docs/targets.md. If they have no contexts, they are those of
    the trace's spans of type RETRIEVER. Options are those of `ragstone.Scorer`.

    The assessment has the metric's value, the reason, and the claims with their evidence as
    metadata. A failed score is an error with its cause, and an undefined one has no assessment:
    neither is a number, so means are over the scored rows.

    Raises:
        UsageError: an option is invalid, the judge cannot answer the metric, or MLflow is missing.
    """
    check_extra("mlflow", "scorers for MLflow", "mlflow")
    settings: ScoringOptions = {**options, "metrics": [metric]}
    made = Scorer(**settings)
    if len(made.metrics) != 1:
        raise UsageError(f"{metric} is a group; make a scorer of each metric")
    [full_name] = made.metrics
    asks = bool(get(full_name).question_kinds) and made.judge != "offline"
    entities = cast("Any", import_module("mlflow.entities"))
    source = entities.AssessmentSource(
        source_type="LLM_JUDGE" if asks else "CODE", source_id=made.judge if asks else full_name
    )

    def score(inputs: Any, outputs: Any, expectations: Any = None, trace: Any = None) -> Any:
        try:
            sample = sample_of(inputs, outputs, expectations, trace=trace)
            [row] = made.rows([sample])
        except RagstoneError as error:
            code = error.cause.value.upper() if isinstance(error, CallError) else "INVALID_INPUT"
            return entities.Feedback(
                error=entities.AssessmentError(code, str(error)), source=source
            )
        found = feedback_of(row.scores[full_name])
        if found is None:
            return None
        if code := found.pop("code", None):
            found["error"] = entities.AssessmentError(code, found.pop("rationale"))
        return entities.Feedback(**found, source=source)

    shown_name = name or full_name.replace("@", "_at_")  # MLflow's metrics have no @
    make = cast("Any", import_module("mlflow.genai.scorers")).scorer
    return make(score, name=shown_name)


def sample_of(
    inputs: object, outputs: object, expectations: object, *, trace: object = None
) -> Sample:
    """Return what MLflow passes to a scorer; the trace's documents are the last resort."""
    row = {"query": inputs}
    if isinstance(inputs, Mapping):
        row = dict(cast("Mapping[str, object]", inputs))
    if isinstance(expectations, Mapping):
        given = cast("Mapping[str, object]", expectations)
        row |= {EXPECTED.get(name, name): value for name, value in given.items()}
    fields = {} if outputs is None else answer_fields(outputs)
    sample = samples_of([row], name="inputs and expectations").samples[-1]
    if fields.get("contexts") is None and sample.contexts is None:
        fields |= answer_fields({"contexts": retrieved(trace)})
    return Sample.model_validate({**dict(sample), **fields})


def retrieved(trace: Any) -> list[object] | None:
    """Return the documents of a trace's spans of type RETRIEVER; None if none has outputs."""
    spans = trace.search_spans(span_type="RETRIEVER") if trace is not None else ()
    found: list[object] = [span.outputs for span in spans if span.outputs is not None]
    for outputs in found:
        if not isinstance(outputs, list | tuple):
            kind = type(outputs).__name__
            fix = "return a list of texts or documents, or the contexts with the response"
            raise CallError(Cause.MALFORMED, f"a RETRIEVER span returned {kind}; {fix}")
    lists = cast("list[list[object]]", found)
    return [item for outputs in lists for item in outputs] if lists else None


def feedback_of(score: Score) -> dict[str, Any] | None:
    """Return the fields of an assessment, None if undefined; a failed score has a `code`."""
    if score.state is State.UNDEFINED:
        return None
    if score.cause is not None:
        return {"code": score.cause.value.upper(), "rationale": score.reason or ""}
    claims = [
        {
            "text": claim.text,
            "label": claim.label.value,
            "reason": claim.reason,
            "evidence": [each.quote for each in claim.evidence],
        }
        for claim in score.claims
    ]
    metadata = {"state": score.state.value}
    metadata |= {"claims": json.dumps(claims, ensure_ascii=False)} if claims else {}
    metadata |= {"imputed": "true"} if score.fallback else {}
    return {"value": score.value, "rationale": score.reason, "metadata": metadata}
