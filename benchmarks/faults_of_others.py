"""What becomes of faithfulness in ragas or deepeval when the judge fails: beside `faults.py`.

    /path/to/venv/bin/python benchmarks/faults_of_others.py ragas|deepeval MOCK.py

Run it with a Python that has the library; ragstone is not needed. `evaluate()` is called with its
default settings. A score is wrong if it is a number that differs from the right one by over 0.001.
Each fault has a process of its own and ten minutes.
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from judged_samples import judged_samples
from mock_server import serving, stats

SAMPLES = 20
SECONDS = 600
FAULTS: tuple[tuple[str, ...], ...] = (
    (),
    ("malformed=0.2",),
    ("fewer=0.3", "--fault-on", "verify"),
    ("more=0.3", "--fault-on", "verify"),
    ("empty=0.3", "--fault-on", "verify"),
    ("empty=0.3", "--fault-on", "extract"),
    ("refusal=0.3",),
    ("429=0.3",),
    ("500=0.3",),
    ("hang=0.1",),
)


def ragas_scores(samples: Sequence[Mapping[str, object]]) -> list[float | None]:
    """Return the scores of ragas; NaN is None."""
    from ragas import EvaluationDataset, SingleTurnSample, evaluate
    from ragas.metrics import faithfulness

    data = EvaluationDataset(
        [
            SingleTurnSample(
                user_input=sample["query"],
                response=sample["response"],
                retrieved_contexts=sample["contexts"],
            )
            for sample in samples
        ]
    )
    values = evaluate(data, metrics=[faithfulness], show_progress=False)["faithfulness"]
    return [None if math.isnan(value) else value for value in values]


def deepeval_scores(samples: Sequence[Mapping[str, object]]) -> list[float | None]:
    """Return the scores of deepeval."""
    from deepeval import evaluate
    from deepeval.evaluate import DisplayConfig
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.test_case import LLMTestCase

    cases = [
        LLMTestCase(
            name=str(number),
            input=sample["query"],
            actual_output=sample["response"],
            retrieval_context=sample["contexts"],
        )
        for number, sample in enumerate(samples)
    ]
    quiet = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)
    results = evaluate(cases, [FaithfulnessMetric()], display_config=quiet).test_results
    scores: list[float | None] = [None] * len(samples)
    for result in results:
        scores[int(result.name)] = result.metrics_data[0].score
    return scores


SCORES: Mapping[str, Callable[[Sequence[Mapping[str, object]]], list[float | None]]] = {
    "ragas": ragas_scores,
    "deepeval": deepeval_scores,
}


def score(library: str) -> None:
    """Print how many scores are right, missing and wrong."""
    samples = judged_samples(SAMPLES)
    right = [float(sample["tags"]["right"]) for sample in samples]  # type: ignore[index]
    scores = SCORES[library](samples)
    missing = sum(each is None for each in scores)
    wrong = sum(
        each is not None and abs(each - true) > 1e-3
        for each, true in zip(scores, right, strict=True)
    )
    print(f"RESULT right {SAMPLES - missing - wrong}, missing {missing}, wrong {wrong}")


def main(library: str, mock: str) -> None:
    """Print a line for each fault."""
    print(library, version(library))
    for flags in FAULTS:
        given = ["--fault", *flags] if flags else []
        with serving(mock, *given, "--latency-ms", "20", "--retry-after", "1") as url:
            environment = {
                **os.environ,
                "OPENAI_BASE_URL": f"{url}/v1",
                "OPENAI_API_KEY": "none",
                "RAGAS_DO_NOT_TRACK": "true",
                "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            }
            command = [sys.executable, "-W", "ignore", __file__, library]
            try:
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, timeout=SECONDS
                )
                lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
                last = done.stderr.strip().splitlines()[-1:] or ["no output"]
                said = lines[0][7:] if lines else f"the run stopped: {last[0]:.100}"
            except subprocess.TimeoutExpired:
                said = f"not finished after {SECONDS} s"
            print(
                f"{' '.join(flags) or 'none':34} {said} ({stats(url)['requests']} calls)",
                flush=True,
            )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        score(sys.argv[1])
    else:
        main(*sys.argv[1:])
