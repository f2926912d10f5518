"""The HTML report of a thousand samples: how big its file is, and how soon a browser shows it.

    python benchmarks/html_report.py [--n 1000] [--metrics 6] [--times 5] [--keep FILE]

A sample has 5 contexts of some 300 characters, 5 claims with their evidence, a transcript of two
exchanges and ranking scores; the words are drawn at random, so that they compress as prose does.
Opening ends when the list of samples is shown; the time of an empty page stands beside it, as a
part of it is the browser's own. The exit code is 1 if 1,000 samples by 6 metrics take 2 MB or 2 s,
or 2,000 samples by 29 metrics 1.5 s.
"""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter

from playwright.async_api import Browser, async_playwright

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.reports.html.page import write_html
from ragstone.results.run import Run
from ragstone.types.claim import Claim, Evidence, Label, Verdict
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Reply, Usage

LIMITS = {(1000, 6): (2_000_000, 2.0), (2000, 29): (10**9, 1.5)}
"""Samples and metrics -> bytes and seconds that a report may take."""
NAMES = ("hit", "precision", "recall", "mrr", "ndcg", "f1", "map")
METRICS = ("faithfulness", *(f"{name}@{k}" for k in (5, 1, 3, 10) for name in NAMES))
CLAIMS, CONTEXTS = 5, 5
EMPTY = "<!doctype html><title>empty</title><p id=count>empty</p>"


class Prose:
    """Sentences of made-up words, some of them much commoner than others."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        syllables = [a + b for a in "bdfglmnprst" for b in ("a", "e", "i", "o", "u", "ar", "en")]
        self._words = ["".join(self._random.choices(syllables, k=2 + i % 3)) for i in range(4000)]
        self._weights = [1 / (rank + 2) for rank in range(4000)]

    def sentence(self, words: int = 11) -> str:
        """Return some words with a number, so that no two sentences are equal."""
        said = " ".join(self._random.choices(self._words, self._weights, k=words))
        return f"{said.capitalize()} {self._random.randrange(1000)}."

    def text(self, characters: int) -> str:
        """Return sentences of about so many characters together."""
        found = self.sentence()
        while len(found) < characters:
            found += f" {self.sentence()}"
        return found


def sample(number: int, prose: Prose) -> dict[str, object]:
    """Return a sample whose response has five sentences."""
    return {
        "id": f"q{number}",
        "query": prose.sentence(),
        "response": " ".join(prose.sentence() for _ in range(CLAIMS)),
        "contexts": [
            {"id": f"{number}-{place}", "text": prose.text(280), "score": 0.9 - place / 10}
            for place in range(CONTEXTS)
        ],
        "reference": prose.sentence(),
        "relevance": {f"{number}-{number % 7}": 1},
        "difficulty": ("easy", "medium", "hard")[number % 3],
    }


def claims_of(question: ExtractClaims) -> Reply[tuple[Claim, ...]]:
    """Return each sentence as a claim, with what a model would have written."""
    texts = [f"{text.removesuffix('.')}." for text in question.response.split(". ")]
    starts = [question.response.index(text) for text in texts]
    claims = [
        Claim(text=text, span=(start, start + len(text)))
        for text, start in zip(texts, starts, strict=True)
    ]
    usage = Usage(calls=1, prompt_tokens=300, completion_tokens=120)
    return Reply(tuple(claims), usage, raw=json.dumps({"claims": texts}))


def verdicts_of(question: VerifyClaims) -> Reply[tuple[Verdict, ...]]:
    """Return a verdict a claim, which quotes the first sentence of one context."""
    labels = (Label.SUPPORTED, Label.SUPPORTED, Label.NOT_ENOUGH_INFO, Label.CONTRADICTED)
    verdicts: list[Verdict] = []
    for place, claim in enumerate(question.claims):
        quote = question.contexts[place % CONTEXTS].partition(". ")[0]
        evidence = Evidence(context=place, start=0, end=len(quote), quote=quote, verified=True)
        reason = f"The context says {quote[:40]}, and the claim {claim[:30]}."
        label = labels[len(claim) % len(labels)]
        verdicts.append(Verdict(label=label, reason=reason, evidence=(evidence,)))
    told = [
        {"claim": n, "label": v.label, "reason": v.reason, "quotes": [v.evidence[0].quote]}
        for n, v in enumerate(verdicts, start=1)
    ]
    usage = Usage(calls=1, prompt_tokens=900, completion_tokens=300)
    return Reply(tuple(verdicts), usage, raw=json.dumps({"verdicts": told}))


def run_of(n: int, metrics: int) -> Run:
    """Evaluate so many samples by the first of the metrics."""
    prose = Prose()
    judge = ScriptedJudge({"extract_claims": claims_of, "verify_claims": verdicts_of})
    return evaluate([sample(i, prose) for i in range(n)], metrics=METRICS[:metrics], judge=judge)


async def seconds(browser: Browser, page: Path, shown: str) -> float:
    """Open a page in a fresh window; return how long it took until it shows something."""
    window = await browser.new_page()
    start = perf_counter()
    await window.goto(page.as_uri(), wait_until="commit")
    await window.locator(shown).first.wait_for()
    took = perf_counter() - start
    await window.close()
    return took


async def opened(report: Path, empty: Path, times: int) -> tuple[Sequence[float], ...]:
    """Return the times of the report, and of the empty page."""
    async with async_playwright() as playwright:
        path = shutil.which("chromium") or "/usr/bin/chromium"
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        await seconds(browser, empty, "#count")
        found = [
            (
                await seconds(browser, report, "#rows-table tbody tr"),
                await seconds(browser, empty, "#count"),
            )
            for _ in range(times)
        ]
        await browser.close()
    return tuple(zip(*found, strict=True))


def main() -> int:
    """Measure, print, and say whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--metrics", type=int, default=6)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="Where to leave the report.")
    options = parser.parse_args()
    run = run_of(options.n, options.metrics)
    with tempfile.TemporaryDirectory() as folder:
        report, empty = options.keep or Path(folder) / "report.html", Path(folder) / "empty.html"
        empty.write_text(EMPTY, encoding="utf-8")
        start = perf_counter()
        write_html(run, report)
        took = perf_counter() - start
        size = report.stat().st_size
        print(f"{options.n:,} samples, {options.metrics} metrics: {size:,} bytes in {took:.1f} s")
        whole, bare = asyncio.run(opened(report, empty, options.times))
    print(f"opens in {median(whole):.2f} s (worst {max(whole):.2f}); empty: {median(bare):.2f} s")
    most = LIMITS.get((options.n, options.metrics))
    return int(most is not None and (size >= most[0] or max(whole) >= most[1]))


if __name__ == "__main__":
    sys.exit(main())
