"""Small runs to compare, made of what their samples came to."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest

from ragstone.errors import Cause
from ragstone.metrics import get
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

Value = float | Score | None


def manifest_of(**fields: object) -> Manifest:
    usual = {
        "version": "0.1.0",
        "started_at": datetime(2026, 3, 1, tzinfo=UTC),
        "plan": Plan(),
        "judge": "offline",
        "judge_note": "word overlap",
        "target": None,
        "not_run": {},
    }
    return Manifest.model_validate(usual | fields)


class Runs:
    """Makes runs, and the scores they are made of."""

    @staticmethod
    def claim(text: str, label: Label, reason: str | None = None) -> JudgedClaim:
        return JudgedClaim(
            text=text, span=None, label=label, reason=reason, confidence=None, evidence=()
        )

    @staticmethod
    def claimed(value: float, *claims: JudgedClaim) -> Score:
        return Score.scored(value, claims=claims)

    @staticmethod
    def failed(words: str = "no answer") -> Score:
        return Score.failed(Cause.TIMEOUT, words)

    @staticmethod
    def of(
        scores: Mapping[str, Sequence[Value]],
        *,
        run_id: str = "a",
        ids: Sequence[str] | None = None,
        queries: Sequence[str] | None = None,
        tags: Sequence[Mapping[str, object]] | None = None,
        plan: Mapping[str, object] | None = None,
        partial: bool = False,
        **manifest: object,
    ) -> Run:
        """Make a run of scores by metric, where None is undefined: `of({"hit@5": [1, None]})`."""
        n = max((len(values) for values in scores.values()), default=0)
        names = ids or [f"q{i}" for i in range(n)]
        asked = queries or [f"What is {name}?" for name in names]
        samples = [
            Sample.model_validate({"id": name, "query": query, "tags": tags[i] if tags else {}})
            for i, (name, query) in enumerate(zip(names, asked, strict=True))
        ]
        rows = [
            Row(i, sample, scores={name: _scored(values[i]) for name, values in scores.items()})
            for i, sample in enumerate(samples)
        ]
        source = Source(name="data.xlsx", fingerprint="f" * 64, rows=n)
        fields = {"run_id": run_id, "plan": Plan.of(dict(plan or {})), "source": source} | manifest
        metrics = {name: get(name).described for name in scores}
        return Run(manifest_of(**fields), metrics, rows, partial=partial)


def _scored(value: Value) -> Score:
    if isinstance(value, Score):
        return value
    return Score.undefined("no claims") if value is None else Score.scored(value)


@pytest.fixture
def runs() -> type[Runs]:
    return Runs


def draw_in_order(sample_id: str, _query: str) -> bytes:
    """Draw rows in the order of the data."""
    return int(sample_id.removeprefix("q")).to_bytes(4, "big")
