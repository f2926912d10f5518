"""What workers cost: CPU and wall time of each engine beside a plain run, on the same rows.

    python benchmarks/scale.py [--rows 50000] [--kill] [plain workers ray spark]

Each engine evaluates the same file with the offline judge, in a process of its own. The rows and
the summary must be equal to those of the plain run, apart from times and ids. With --kill, one
worker is killed with SIGKILL half way. CPU is that of the driver and its workers; processes of Ray
or Spark themselves are reported separately. The exit code is 1 if a result differs.
"""

import json
import random
from pathlib import Path

WORDS = (
    "battery camera screen memory charger model phone cable hours weeks price network signal "
    "storage sensor lens update warranty speaker design weight colour"
).split()


def sentence(pick: random.Random) -> str:
    """Return a sentence with a number."""
    words = " ".join(pick.choices(WORDS, k=9))
    return f"The {words} lasts {pick.randint(2, 90)} hours."


def write_rows(path: Path, rows: int) -> None:
    """Write rows with 3 contexts of 7 sentences, and responses of 2 or 3 of those sentences."""
    pick = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            contexts = [" ".join(sentence(pick) for _ in range(7)) for _ in range(3)]
            said = pick.sample(" ".join(contexts).split(". "), pick.choice((2, 3)))
            row = {
                "id": f"r{number}",
                "query": f"How long does the {pick.choice(WORDS)} of model {number} last?",
                "response": ". ".join(said).rstrip(".") + ".",
                "contexts": contexts,
                "kind": pick.choice(("short", "long")),
            }
            file.write(json.dumps(row) + "\n")
