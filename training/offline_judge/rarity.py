"""The table of how rare words are: `python -m training.offline_judge.rarity DIR`.

Writes `rarity.txt` into the package: the stems of at least FEWEST sentences of the training data,
in lines by their weight. The weight is the logarithm of one in how many sentences has the stem, as
a share of that for stems that are not listed. No label is used.
"""

import sys
from collections import Counter, defaultdict
from math import log
from pathlib import Path

from ragstone._internal.sentences import split_sentences
from ragstone.judges.offline.words import split_forms, stem
from training.offline_judge.rows import read_rows

FILE = Path(__file__).parents[2] / "src/ragstone/judges/offline/rarity.txt"
FEWEST = 6
STEPS = 20
"""The number of different weights; more make no judge better."""


def rarity(folder: Path) -> str:
    """Return the text of the table."""
    texts = {text for row in read_rows(folder) for text in (*row.contexts, row.response)}
    counts: Counter[str] = Counter()
    total = 1
    for text in texts:
        for sentence in split_sentences(text):
            counts.update(set(map(stem, split_forms(sentence.text))))
            total += 1
    lines: defaultdict[float, list[str]] = defaultdict(list)
    for each, count in counts.items():
        if count >= FEWEST and not each.isdigit():
            weight = log(total / count) / log(total / FEWEST)
            lines[round(weight * STEPS) / STEPS].append(each)
    return "".join(f"{weight} {' '.join(sorted(lines[weight]))}\n" for weight in sorted(lines))


if __name__ == "__main__":
    FILE.write_text(rarity(Path(sys.argv[1])), "utf-8")
