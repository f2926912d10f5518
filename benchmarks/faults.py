"""What becomes of faithfulness when the judge fails: one fault after the other, 20 samples each.

    python benchmarks/faults.py MOCK.py

MOCK.py is a server of OpenAI's protocol that judges by a marker word, so that every sample's right
score is known, and that takes faults as `--fault KIND=SHARE`, tells at /stats how many it served,
and has `--fault-on verify`. For each fault the table says how many scores are right, undefined,
failed (with their causes) and wrong, how many calls were made, and how long it took. Wrong and
lost must be 0 everywhere; the exit code says so.
"""

import sys
import time
from collections import Counter
from typing import cast

from judged_samples import judged_samples
from mock_server import serving, stats

import ragstone
from ragstone.results.run import Run

SAMPLES = 20
FAULTS: tuple[tuple[str, ...], ...] = (
    (),
    ("malformed=0.2",),
    ("fewer=0.3", "--fault-on", "verify"),
    ("more=0.3", "--fault-on", "verify"),
    ("fewer=1", "--fault-on", "verify"),
    ("more=1", "--fault-on", "verify"),
    ("empty=0.3", "--fault-on", "verify"),
    ("empty=1", "--fault-on", "verify"),
    ("empty=0.3", "--fault-on", "extract"),
    ("empty=1", "--fault-on", "extract"),
    ("refusal=0.3",),
    ("refusal=1", "--fault-on", "verify"),
    ("refusal_field=0.3",),
    ("429=0.3",),
    ("500=0.3",),
    ("hang=0.1",),
    ("length=0.3",),
    ("drop=0.3",),
)


def told(run: Run) -> tuple[int, int, int, Counter[str]]:
    """Count right, undefined and wrong scores, and the failed ones by cause."""
    right = undefined = wrong = 0
    causes: Counter[str] = Counter()
    for row in run.rows:
        score = row.scores["faithfulness"]
        if score.cause:
            causes[str(score.cause)] += 1
        elif score.value is None:
            undefined += 1
        elif abs(score.value - float(str(row.sample.tags["right"]))) < 1e-9:
            right += 1
        else:
            wrong += 1
    return right, undefined, wrong, causes


def main() -> int:
    """Print the table; 1 if anything was wrong or lost."""
    bad = 0
    print(f"{'fault':34} served right undef. failed (causes){'':14} wrong lost calls   s")
    for flags in FAULTS:
        given = ["--fault", *flags] if flags else []
        with serving(sys.argv[1], *given, "--latency-ms", "20", "--retry-after", "1") as url:
            start = time.perf_counter()
            run = ragstone.evaluate(
                judged_samples(SAMPLES),
                metrics="faithfulness",
                judge="openai:mock",
                base_url=f"{url}/v1",
                cache=False,
                timeout=2,
                concurrency=8,
            )
            wall = time.perf_counter() - start
            served = cast("dict[str, int]", stats(url)["faults"])
        right, undefined, wrong, causes = told(run)
        failed = f"{causes.total()} {dict(causes) or ''}"
        lost = SAMPLES - len(run.rows)
        bad += wrong + lost
        name = " ".join(flags) or "none"
        print(f"{name:34} {sum(served.values()):6} {right:5} {undefined:6} {failed:30} {wrong:4} "
              f"{lost:4} {run.usage().calls:5} {wall:5.1f}")  # fmt: skip
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
