"""ragas' metrics and ours on the same verdicts: the greatest difference of any score.

    python benchmarks/ragas_definitions.py PYTHON [--n 300]

PYTHON is the interpreter of a virtual environment with ragas 0.4.3 ("langchain-community<0.4").
Both judge samples whose words say what a judge answers (ragas_cases.py): ragas through its own
prompts and parsers and a model that reads those words, we through a scripted judge. The exit code
is 1 if a score differs by more than 1e-9.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from ragas_cases import cases, claims, cosine, guesses, holds, noncommittal

from ragstone import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.types.questions import (
    ExtractClaims,
    GenerateQueries,
    GradeContexts,
    TextSimilarity,
    VerifyClaims,
)

CLOSE = 1e-9


def theirs(python: str, n: int) -> dict[str, dict[str, object]]:
    """Return ragas' scores and calls by metric."""
    script = Path(__file__).with_name("ragas_scores.py")
    told = subprocess.run(
        [python, str(script), str(n)], capture_output=True, text=True, check=False,
        env={**os.environ, "RAGAS_DO_NOT_TRACK": "true"},
    )  # fmt: skip
    if told.returncode:
        sys.exit(told.stderr[-2000:])
    return json.loads(told.stdout.splitlines()[-1])


def judge() -> ScriptedJudge:
    """Return a judge that reads its answers off the samples' words."""

    def verdicts(question: VerifyClaims) -> list[dict[str, str]]:
        against = question.contexts[0]
        where = "in contexts" if against.startswith("c") else "in reference"
        where = "in response" if against.startswith("r") else where
        return [
            {"label": "SUPPORTED" if holds(claim, where) else "NOT_ENOUGH_INFO"}
            for claim in question.claims
        ]

    def guessed(question: GenerateQueries) -> dict[str, object]:
        evades = noncommittal(question.response)
        return {"queries": guesses(question.response), "noncommittal": evades}

    def found(question: ExtractClaims) -> list[dict[str, str]]:
        return [{"text": claim} for claim in claims(question.response)]

    def grades(question: GradeContexts) -> list[dict[str, bool]]:
        return [{"relevant": "of use" in context} for context in question.contexts]

    def cosines(question: TextSimilarity) -> list[float]:
        return [min(1.0, cosine(question.text, other)) for other in question.others]

    return ScriptedJudge(
        {
            "extract_claims": found,
            "verify_claims": verdicts,
            "grade_contexts": grades,
            "generate_queries": guessed,
            "text_similarity": cosines,
        }
    )


def main() -> int:
    """Print the greatest difference of each metric, and both sides' calls a sample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--n", type=int, default=300)
    given = parser.parse_args()
    told = theirs(given.python, given.n)
    names = list(told["scores"])
    run = evaluate(cases(given.n), metrics=names, judge=judge())
    worst = 0.0
    print(f"{'metric':34} {'ours':>8} {'ragas':>8} {'difference':>11}  calls a sample")
    for name in names:
        alone = evaluate(cases(given.n), metrics=[name], judge=judge())
        ours = [row.scores[name].value for row in run.rows]
        other = told["scores"][name]
        assert [row.scores[name].value for row in alone.rows] == ours
        apart = max(abs(a - b) for a, b in zip(ours, other, strict=True))
        worst = max(worst, apart)
        means = (sum(each) / len(each) for each in (ours, other))
        calls = alone.usage().calls / given.n, sum(told["calls"][name].values()) / given.n
        shown = " ".join(f"{mean:8.4f}" for mean in means)
        print(f"{name:34} {shown} {apart:11.1e}  {calls[0]:.1f} to {calls[1]:.1f}")
    together = sum(sum(calls.values()) for calls in told["calls"].values())
    ours, saved = run.usage().calls / given.n, run.counts.calls_saved
    print(f"all of them: {ours:.1f} calls a sample, {saved:,} saved by asking once; ", end="")
    print(f"ragas {together / given.n:.1f}")
    return int(worst > CLOSE)


if __name__ == "__main__":
    sys.exit(main())
