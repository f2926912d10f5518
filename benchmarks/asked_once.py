"""All judged metrics on a mock server: whether any question was asked twice, and calls a sample.

    python benchmarks/asked_once.py MOCK.py [--n 50]

MOCK.py is a server of OpenAI's protocol (see faults.py) that tells at /stats how many requests it
got and how many of them had different prompts. The reply cache is off, so that nothing but asking
once keeps the requests down. The exit code is 1 if a prompt came twice, or a score failed.
"""

import argparse
import os
import sys
import tempfile
from itertools import pairwise

from judged_samples import judged_samples
from mock_server import serving, stats

import ragstone


def main() -> int:
    """Print what each metric would ask alone, and what all of them asked together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mock")
    parser.add_argument("--n", type=int, default=50)
    given = parser.parse_args()
    os.chdir(tempfile.mkdtemp())
    made = judged_samples(given.n + 1)
    samples = [sample | {"reference": other["response"]} for sample, other in pairwise(made)]
    with serving(given.mock) as url:
        run = ragstone.evaluate(
            samples, metrics="all_judged", judge="openai:mock", base_url=f"{url}/v1",
            embedding_model="openai:mock", cache=False, concurrency=32,
        )  # fmt: skip
        served = stats(url)
    alone = sum(info.calls for info in run.metrics.values())
    unscored = sum(score.value is None for row in run.rows for score in row.scores.values())
    print(f"{len(run.metrics)} metrics, {len(run.rows)} samples")
    for name, info in run.metrics.items():
        mean = run.summary()[name].mean
        print(
            f"  {name:24} {info.calls} calls alone, mean {mean if mean is None else round(mean, 4)}"
        )
    print(
        f"requests {served['requests']}, different prompts {served['distinct_prompts']}: "
        f"{run.usage().calls / len(run.rows):.1f} calls a sample instead of {alone}; "
        f"{run.counts.calls_saved:,} saved; not scored: {unscored}"
    )
    for name, summary in run.summary().items():
        if summary.scored < summary.n:
            print(f"  {name}: {summary.undefined} undefined, {summary.failed} failed")
    failed = any(summary.failed for summary in run.summary().values())
    return int(served["requests"] != served["distinct_prompts"] or failed)


if __name__ == "__main__":
    sys.exit(main())
