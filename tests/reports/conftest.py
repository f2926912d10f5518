from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.results.conftest import Runs, manifest_of

from ragstone.errors import Cause
from ragstone.metrics import get
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import Plan, Source
from ragstone.types.gate import Gate
from ragstone.types.rankings import Rankings
from ragstone.types.reply import Failure
from ragstone.types.row import Row, TargetCall
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

STARTED = datetime(2026, 3, 1, 12, 30, 5, tzinfo=UTC)
MakeRun = Callable[..., Run]


def claim(label: Label, text: str, reason: str | None = None) -> JudgedClaim:
    return Runs.claim(text, label, reason)


def tokens(text: str) -> list[Token]:
    """All tokens of a text as GitHub reads it, but for links that it makes of bare addresses."""
    found = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    return [each for token in found for each in [token, *(token.children or [])]]


def sample(number: int, **changed: object) -> Sample:
    fields: dict[str, object] = {
        "id": f"q{number}",
        "query": f"How long does battery {number} last?",
        "response": "It lasts 20 hours. It charges in 60 minutes.",
        "contexts": (
            Context(id="3", text="Up to 20 hours."),
            Context(id="4", text=f"75 minutes{'.' * number}"),
        ),
        "ranking": tuple(Context(id=id_) for id_ in ("9", "3", "4")),
        "reference": "20 hours",
        "relevance": {"3": 1.0, "77": 1.0, "9": 0.0},
        "tags": {"difficulty": "easy", "source_files": "manual.pdf"},
    }
    return Sample.model_validate(fields | changed)


def ranked(metric: str, sample: Sample) -> Score:
    if sample.relevance is None:
        return Score.undefined("relevance is not known")
    ids = [place.id for place in sample.ranked or () if place.id is not None]
    return get(metric).scores(Rankings.of([ids], [sample.relevance]))[0]  # type: ignore[attr-defined]


def four_rows() -> list[Row]:
    """One row of each kind: scored above 0, scored 0, undefined, failed."""
    good = claim(Label.SUPPORTED, "It lasts 20 hours.")
    bad = claim(Label.CONTRADICTED, "It charges in 60 minutes.", "The context says 75 minutes.")
    faithfulness = [
        Score.scored(0.5, detail={"claims": 2, "supported": 1}, claims=(good, bad)),
        Score.scored(0.0, detail={"claims": 1, "supported": 0}, claims=(bad,)),
        Score.undefined("the response makes no claims"),
        Score.failed(Cause.TIMEOUT, "no answer within 30 s"),
    ]
    samples = [
        sample(1),
        sample(2, relevance={"77": 1}),
        sample(3, relevance=None),
        sample(4, response=None, contexts=None),
    ]
    late = Failure(Cause.TIMEOUT, "no answer within 30 s")
    return [
        Row(
            index,
            given,
            calls=(TargetCall("chat", 100.0 + 10 * index, late if index == 3 else None),),
            scores={
                "hit@5": ranked("hit@5", given),
                "f1@5": ranked("f1@5", given),
                "faithfulness": score,
            },
            notes=("the ranking holds a document twice",) if index < 2 else (),
        )
        for index, (given, score) in enumerate(zip(samples, faithfulness, strict=True))
    ]


def _make_run(
    rows: Sequence[Row] | None = None,
    *,
    names: Sequence[str] = ("hit@5", "f1@5", "faithfulness"),
    asked: Sequence[str] = ("all",),
    gates: Sequence[Gate] = (),
    partial: bool = False,
    manifest: Mapping[str, object] | None = None,
    **plan: object,
) -> Run:
    found = four_rows() if rows is None else rows
    metrics = {name: get(name) for name in names}
    options = {"metrics": tuple(asked), "gates": tuple(gates), "max_failure_rate": 1.0} | plan
    fields: dict[str, object] = {
        "run_id": "20260301-123005-abc123",
        "started_at": STARTED,
        "plan": Plan.model_validate(options),
        "source": Source(name="qr.xlsx", rows=len(found), notes=("2 blank rows were left out",)),
        "judge_note": "word overlap; no language model",
        "target": "http://localhost:8000",
        "not_run": {"response_relevancy": "needs a model"},
    }
    described = {name: metric.described for name, metric in metrics.items()}
    extras = {
        name: metric.summarize([row.scores[name] for row in found])
        for name, metric in metrics.items()
    }
    about = manifest_of(**fields | dict(manifest or {}))
    return Run(about, described, found, extras, partial=partial)


@pytest.fixture
def make_run() -> MakeRun:
    return _make_run


@pytest.fixture(scope="session")
def hostile_run() -> Callable[[str], Run]:
    """Build a run that holds one text wherever text can come from outside."""

    def build(text: str) -> Run:
        word = text if text.strip() else f"{text}x"  # ids and queries are never blank
        given = Sample(
            id=word,
            query=word,
            response=text,
            contexts=(Context(text=text, id=word), Context(id="d")),  # a plain id matches
            reference=text,
            relevance={word: 1.0, "d": 1.0},
            tags={text: text, "score": text},
        )
        failed, unknown = Score.failed(Cause.MALFORMED, text), Score.undefined(text)
        judged = claim(Label.CONTRADICTED, text, text)
        scored = Score.scored(0.25, detail={text: text, "claims": 1}, claims=(judged,))
        rows = [
            Row(0, given, scores={"hit@5": failed, "faithfulness": scored}, notes=(text,)),
            Row(1, given, scores={"hit@5": unknown, "faithfulness": failed}, notes=()),
        ]
        source = Source(name=text, notes=(text,))
        about = {"judge": text, "judge_note": text, "not_run": {text: text}, "target": text}
        names = ("hit@5", "faithfulness")
        run = _make_run(rows, names=names, manifest=about | {"source": source})
        labelled = {
            name: info.model_copy(update={"label": text}) for name, info in run.metrics.items()
        }
        return Run(run.manifest, labelled, rows, {"hit@5": {text: text}}, partial=True)

    return build
