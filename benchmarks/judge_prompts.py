"""How well a judge finds what people marked as wrong: faithfulness of answers with labels.

    python benchmarks/judge_prompts.py ragtruth_dev70.jsonl.gz
    python benchmarks/judge_prompts.py ragtruth_dev70.jsonl.gz --judge openai:gpt-4o \
        --prompt verify_claims=mine.md --store mine.db

A line of the set has id, query, contexts, response, label (SUPPORTED if people marked nothing) and
spans, the marked parts of the response, each with start and end. With `part`, the parts are printed
apart. Without --judge, the offline judge answers. The store keeps every question and raw reply, so
`ragstone runs rescore` and later versions of this script need no calls.
"""

import argparse
import gzip
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ragstone
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.reply import Exchange, Reply
from ragstone.types.row import Row

DRAWS = 2000  # bootstrap samples of answers for intervals
Line = dict[str, Any]


def read(path: Path) -> list[Line]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Replay(logging.Handler):
    """Writes what is asked and what comes back, line by line, from the judge's debug log."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("w", encoding="utf-8")

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno != logging.DEBUG:
            return
        names = ("kind", "key", "judge", "system", "user") if " asks " in record.msg else (
            "kind", "key", "reply")  # fmt: skip
        self._file.write(json.dumps(dict(zip(names, record.args, strict=True))) + "\n")
        self._file.flush()


def auroc(faultless: np.ndarray, marked: np.ndarray) -> float:
    """Return how often a faultless answer has the higher score; ties count half."""
    less, equal = marked[:, None] < faultless, marked[:, None] == faultless
    return float(np.mean(less + 0.5 * equal))


def balanced(faultless: np.ndarray, marked: np.ndarray) -> float:
    """Return the mean of the shares that keep and that lose points, as they should."""
    return float((np.mean(marked < 1) + np.mean(faultless == 1)) / 2)


def interval(
    of: Callable[[np.ndarray, np.ndarray], float], faultless: np.ndarray, marked: np.ndarray
) -> str:
    rng = np.random.default_rng(0)
    drawn = [of(rng.choice(faultless, len(faultless)), rng.choice(marked, len(marked)))
             for _ in range(DRAWS)]  # fmt: skip
    low, high = np.quantile(drawn, (0.025, 0.975))
    return f"{of(faultless, marked):.3f} [{low:.2f}, {high:.2f}]"


def is_changed(exchange: Exchange) -> bool:
    """Whether asking again made a reply readable, or added claims."""
    raw = (exchange.outcome.raw or "").rpartition("\n\n")[2]
    return isinstance(exchange.outcome, Reply) and "[]" not in raw[-20:]


def is_met(row: Row, mark: Line) -> bool:
    """Whether a claim that is not supported overlaps a marked part of the response."""
    return any(
        claim.label is not Label.SUPPORTED
        and claim.span is not None
        and claim.span[0] < mark["end"]
        and mark["start"] < claim.span[1]
        for claim in row.scores["faithfulness"].claims
    )


def report(name: str, lines: Sequence[Line], rows: Sequence[Row]) -> None:
    scores = [row.scores["faithfulness"] for row in rows]
    pairs = [(line, row, score.value) for line, row, score in zip(lines, rows, scores, strict=True)]
    scored = [(line, row, value) for line, row, value in pairs if value is not None]
    fine = np.array([value for line, _, value in scored if line["label"] == "SUPPORTED"])
    bad = np.array([value for line, _, value in scored if line["label"] != "SUPPORTED"])
    found, alarms = np.mean(bad < 1), np.mean(fine < 1)
    claims = [
        claim.label is not Label.SUPPORTED
        for line, row, _ in scored
        if line["label"] == "SUPPORTED"
        for claim in row.scores["faithfulness"].claims
    ]
    marks = [is_met(row, mark) for line, row, _ in scored for mark in line["spans"]]
    exchanges = [each for row in rows for each in row.exchanges]
    usages = [each.outcome.usage for each in exchanges]
    again = [each for each in exchanges if each.outcome.attempts > 1]
    changed = sum(map(is_changed, again))
    n = len(rows)
    print(f"{name}: {len(scored)} of {n} answers scored, {len(fine)} of them faultless")
    for what, value in (
        ("AUROC", interval(auroc, fine, bad)),
        ("balanced accuracy, any claim not supported", interval(balanced, fine, bad)),
        ("answers with errors that lose points", f"{found:.2f}"),
        ("faultless answers that lose points", f"{alarms:.2f}"),
        ("their claims that are not supported", f"{np.mean(claims):.3f} of {len(claims)}"),
        ("marked parts that are met", f"{sum(marks)} of {len(marks)}"),
        ("calls a sample", f"{sum(each.calls for each in usages) / n:.2f}"),
        ("prompt tokens a sample", f"{sum(each.prompt_tokens for each in usages) / n:,.0f}"),
        ("reply tokens a sample", f"{sum(each.completion_tokens for each in usages) / n:,.0f}"),
        ("asked again", f"{len(again)} of {len(exchanges)} questions; {changed} changed"),
    ):
        print(f"  {what:44} {value}")


def evaluated(lines: Sequence[Line], given: argparse.Namespace) -> Run:
    fields = ("id", "query", "contexts", "response")
    prompts = dict(each.split("=", 1) for each in given.prompt)
    llm = {k: v for k, v in {"base_url": given.base_url, "prompts": prompts}.items() if v}
    return ragstone.evaluate(
        [{name: line[name] for name in fields} for line in lines],
        metrics="faithfulness",
        judge=given.judge,
        timeout=given.timeout,
        concurrency=given.concurrency,
        cache=False,
        store=given.store,
        **llm,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("set", type=Path)
    parser.add_argument("--judge", default="offline")
    parser.add_argument("--base-url")
    parser.add_argument("--prompt", action="append", default=[], metavar="KIND=FILE")
    parser.add_argument("--timeout", type=float, default=7000)  # people may be the model
    parser.add_argument("--concurrency", type=int, default=20)
    parser.add_argument("--store")
    parser.add_argument("--replay", type=Path, help="write every request and reply to this file")
    given = parser.parse_args()
    lines = read(given.set)
    if given.replay:
        log = logging.getLogger("ragstone.judge")
        log.setLevel(logging.DEBUG)
        log.addHandler(Replay(given.replay))
    rows = evaluated(lines, given).rows
    report("all", lines, rows)
    for part in sorted({line["part"] for line in lines if "part" in line}):
        chosen = [n for n, line in enumerate(lines) if line.get("part") == part]
        report(f"part {part}", [lines[n] for n in chosen], [rows[n] for n in chosen])
