"""Accuracy of the offline judge on claims with human labels, and its speed.

python benchmarks/offline_judge.py DIR

The installed weights were trained on some of these rows; training/offline_judge/MODEL_CARD.md has
the figures for sources left out of training.

DIR has a MANIFEST.json and a *.jsonl.gz file per source, with a row per line: `contexts` (texts),
`response` (one claim or more), `label` (SUPPORTED, CONTRADICTED, NOT_ENOUGH_INFO or NOT_SUPPORTED)
and `split`. A row is supported if all its claims are; its confidence is that of its least supported
claim. Prints for each source balanced accuracy (supported or not) and AUC; a coin flip has 0.50 in
both. Then the time to import the judge after NumPy and pydantic, and claims per second of processor
time with three contexts of 100 words, by the number of claims per question.
"""

import asyncio
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ragstone.judges.offline import OfflineJudge
from ragstone.judges.offline.matching import is_data
from ragstone.types.claim import Label, Verdict
from ragstone.types.questions import ExtractClaims, VerifyClaims

ROWS = 1000
FEWEST = 50
"""Sources with fewer dev rows are measured on all their rows."""


def rows(path: Path) -> list[dict[str, object]]:
    """Return at most ROWS rows of a source, from its dev split if that is large enough."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    found = [row for row in found if not any(map(is_data, row["contexts"]))]  # not judged
    dev = [row for row in found if row["split"] == "dev"]
    chosen = dev if len(dev) >= FEWEST else found
    return random.Random(7).sample(chosen, min(ROWS, len(chosen)))


def support(verdict: Verdict) -> float:
    """Return the probability of support, in [0, 1], from label and confidence."""
    confidence = verdict.confidence or 0.0
    return confidence if verdict.label is Label.SUPPORTED else 1 - confidence


async def judged(judge: OfflineJudge, row: dict[str, object]) -> tuple[bool, float]:
    """Return whether the judge calls a row supported, and the probability."""
    response = str(row["response"])
    claims = (await judge.answer(ExtractClaims(query="", response=response))).value
    texts = tuple(claim.text for claim in claims) or (response,)
    contexts = tuple(row["contexts"])
    verdicts = (await judge.answer(VerifyClaims(claims=texts, contexts=contexts))).value
    supported = all(verdict.label is Label.SUPPORTED for verdict in verdicts)
    return supported, min(support(verdict) for verdict in verdicts)


def auc(positive: list[float], negative: list[float]) -> float:
    """Return the share of pairs in which the positive one has the higher number."""
    pairs = ((p > n) + 0.5 * (p == n) for p in positive for n in negative)
    return sum(pairs) / (len(positive) * len(negative))


def figures(path: Path) -> Iterator[float]:
    """Yield balanced accuracy and AUC of a source."""
    judge = OfflineJudge()
    answers = [(row["label"] == "SUPPORTED", asyncio.run(judged(judge, row))) for row in rows(path)]
    yes = [answer for truth, answer in answers if truth]
    no = [answer for truth, answer in answers if not truth]
    yield (sum(said for said, _ in yes) / len(yes) + sum(not said for said, _ in no) / len(no)) / 2
    yield auc([how for _, how in yes], [how for _, how in no])


WORDS, CONTEXTS, CLAIMS, ROUNDS = 100, 3, 600, 3


def questions(source: Path, at_once: int, *, own: bool) -> Iterator[VerifyClaims]:
    """Yield questions with different contexts; their claims are about these if `own`."""
    with gzip.open(source, "rt", encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    claims = [str(row["response"]) for row in found]
    words = [
        (word, number)
        for number, row in enumerate(found)
        for text in row["contexts"]
        for word in text.split()
    ]
    chance = random.Random(7)
    for number in range(CLAIMS // at_once):
        at = number * CONTEXTS * WORDS
        cuts = range(at, at + CONTEXTS * WORDS, WORDS)
        contexts = tuple(" ".join(word for word, _ in words[cut : cut + WORDS]) for cut in cuts)
        assert len(words) >= at + CONTEXTS * WORDS, "the source has too few words"
        first = words[at][1]
        chosen = claims[first : first + at_once] if own else chance.sample(claims, at_once)
        yield VerifyClaims(claims=tuple(chosen), contexts=contexts)


async def speed(source: Path, at_once: int, *, own: bool) -> float:
    """Return the claims per second of processor time, in the best of some rounds."""
    asked = list(questions(source, at_once, own=own))
    judge = OfflineJudge()
    times: list[float] = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        for question in asked:
            await judge.answer(question)
        times.append(time.process_time() - begin)
    return CLAIMS / min(times)


NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
IMPORTS = """
import time, numpy, pydantic
from pydantic import BaseModel, TypeAdapter
class Model(BaseModel): a: int
TypeAdapter(list[int])
begin = time.process_time()
import ragstone.judges.offline
print(time.process_time() - begin)
"""


def import_time() -> float:
    """Return the shortest time to import the judge after NumPy and pydantic, in seconds.

    The modules are compiled first, like those of an installed package.
    """
    command = [sys.executable, "-c", IMPORTS]
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
        environment = {**kept, "PYTHONPYCACHEPREFIX": folder}
        return min(float(subprocess.check_output(command, env=environment)) for _ in range(7))


def main() -> None:
    """Print a line per source, and a line per number of claims."""
    folder = Path(sys.argv[1])
    manifest = json.loads((folder / "MANIFEST.json").read_text("utf-8"))
    paths = [folder / f"{source}.jsonl.gz" for source in sorted(manifest)]
    for path in paths:
        accuracy, area = figures(path)
        print(f"{path.name.partition('.')[0]:16} {accuracy:.3f} {area:.3f}")
    print(f"import of the judge: {1000 * import_time():.0f} ms")
    source = next(path for path in paths if "factcheck" in path.name)
    for at_once in (1, 5, 20):
        fast = [asyncio.run(speed(source, at_once, own=own)) for own in (False, True)]
        print(
            f"{at_once:2} claims per question: {fast[0]:.0f} claims per second, "
            f"{fast[1]:.0f} if they are about the contexts"
        )


if __name__ == "__main__":
    main()
