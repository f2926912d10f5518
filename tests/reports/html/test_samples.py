import gzip
import json
from base64 import b64decode
from dataclasses import replace

from tests.cases import each_case
from tests.reports.conftest import claim

from ragstone.errors import Cause
from ragstone.reports.html.page import claim_sources, embed_samples, sample_document, sample_summary
from ragstone.results.outcomes import Found, Outcome
from ragstone.results.run import Run
from ragstone.types.claim import Label, Texts
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.score import Score


def test_a_list_tells_a_samples_place_query_tags_and_scores(judged: Run) -> None:
    row = judged.rows[0]
    told = sample_summary(row)
    assert (told["place"], told["id"], told["query"]) == (0, "q1", "How long does it last?")
    assert told["tags"] == {"difficulty": "easy"}
    assert told["scores"]["hit@5"] == {"state": "scored", "value": 1.0}  # type: ignore[index]
    sample = row.sample.model_copy(update={"tags": {"page": 3, "new": True, "by": None}})
    missed = Score.scored(0.0).model_copy(update={"passed": False, "fallback": True})
    told = sample_summary(replace(row, sample=sample, scores={"hit@5": missed}))
    assert told["tags"] == {"page": "3", "new": "true"}
    expected = {"state": "scored", "value": 0.0, "passed": False, "fallback": True}
    assert told["scores"] == {"hit@5": expected}


def test_the_list_has_the_outcomes_that_the_verdict_counts(judged: Run) -> None:
    rows = [replace(judged.rows[0], index=place) for place in (3, 8)]
    run = replace(judged, rows=rows, known_counts=None)
    *_, (_, packed) = embed_samples(run, run.verdict)
    listed = json.loads(gzip.decompress(b64decode(packed)))
    assert [(each["place"], each["outcome"], each["found"]) for each in listed] == [
        (place, "wrong", "found") for place in (3, 8)
    ]
    assert run.verdict.cell(Found.FOUND, Outcome.WRONG).rows == (3, 8)


def test_a_whole_sample_is_plain_data_with_its_texts(judged: Run) -> None:
    (row,) = judged.rows
    told = sample_document(row)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["response"] == row.sample.response
    assert told["ranking"] == ["3"]
    assert told["relevance"] == {"3": 1.0, "77": 1.0}
    assert told["contexts"][0]["score"] == 0.123457  # type: ignore[index]
    assert sample_summary(row).items() <= {**told, "scores": sample_summary(row)["scores"]}.items()
    sample = row.sample.model_copy(update={"reference": ("never", "20 hours")})
    told = sample_document(replace(row, sample=sample))
    assert (told["reference"], told["accepted_answers"]) == ("20 hours", ["never", "20 hours"])


def test_a_failed_question_tells_its_cause(judged: Run) -> None:
    (row,) = judged.rows
    exchange = row.exchanges[0]
    late = Failure(Cause.TIMEOUT, "no answer within 30 s")
    written = replace(exchange.outcome, raw="{}")  # type: ignore[type-var]
    failed, told = sample_document(
        replace(row, exchanges=[replace(exchange, outcome=each) for each in (late, written)])
    )["transcript"]  # type: ignore[misc]
    assert failed["failure"] == {"cause": "timed out", "message": "no answer within 30 s"}
    assert failed["value"] is None
    assert (told["raw"], told["value"]) == ("{}", None)


def test_a_sample_that_lacks_everything_is_data(judged: Run) -> None:
    sample = judged.rows[0].sample.model_validate({"id": "bare", "query": "Why?"})
    told = sample_document(Row(7, sample, failures={"response": Failure(Cause.TIMEOUT, "late")}))
    assert (told["place"], told["response"], told["contexts"]) == (7, None, None)
    assert told["failures"] == {"response": "timed out: late"}


@each_case(
    ("metric", "against", "of"),
    [
        ("faithfulness", ["contexts", "contexts"], ["response", "response"]),
        ("context_recall", ["contexts"], ["reference"]),
        ("claim_recall", ["response"], ["reference"]),
        ("answer_correctness", ["reference", "response"], ["response", "reference"]),
        (
            "noise_sensitivity,contexts=relevant",
            ["contexts", "reference", "contexts"],
            ["response", "response", "reference"],
        ),
        ("a_metric_that_is_not_loaded", ["response", "contexts"], ["reference", "response"]),
        ("hit@5", [], []),
    ],
)
def test_a_claim_is_of_the_text_its_check_reads(
    metric: str, against: list[Texts], of: list[str]
) -> None:
    one = claim(Label.SUPPORTED, "It.")
    claims = [one.model_copy(update={"against": texts}) for texts in against]
    assert claim_sources(metric, claims) == of
