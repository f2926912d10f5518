"""Train the offline judge: prepare, train, export, measure.

python -m training.offline_judge ../shared/data/judge

Writes the weights into the package and the model card beside this file; --out writes both into
another folder. --table stores the features of the claims in a file, and reads them from there if it
exists. The same data gives the same bytes.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = (
    "1"  # before NumPy: sums of threads have no order
)

import argparse
from pathlib import Path

from training.offline_judge.card import write_card
from training.offline_judge.export import written
from training.offline_judge.fitting import fit
from training.offline_judge.rows import DataChangedError, read_rows
from training.offline_judge.table import Table, make_table
from training.offline_judge.trials import (
    ablations,
    leave_one_out,
    mean_accuracy,
    on_dev,
    reasons,
    thresholds,
)

ROOT = Path(__file__).parents[2]
WEIGHTS = ROOT / "src/ragstone/judges/offline/weights.json"
CARD = ROOT / "training/offline_judge/MODEL_CARD.md"


def main() -> None:
    """Read the command line and do as it says."""
    parser = argparse.ArgumentParser(prog="python -m training.offline_judge")
    parser.add_argument("data", type=Path, help="the folder with MANIFEST.json")
    parser.add_argument("--out", type=Path, help="a folder for the weights and the card")
    parser.add_argument("--table", type=Path, help="a file for the features")
    given = parser.parse_args()
    try:
        rows = read_rows(given.data)
    except (DataChangedError, OSError) as error:
        parser.error(f"the training data cannot be used: {error}")
    if given.table and given.table.exists():
        table = Table.load(given.table)
    else:
        table = make_table(rows)
        if given.table:
            table.save(given.table)
    print(f"{len(rows)} rows, {len(table.row)} claims", flush=True)
    weights = fit(range(len(rows)), rows, table)
    left_out = list(leave_one_out(rows, table))
    accuracy = mean_accuracy(left_out)
    card = write_card(
        weights,
        accuracy,
        left_out,
        list(on_dev(rows, table)),
        list(ablations(rows, table)),
        list(thresholds(rows, table)),
        list(reasons(rows, table)),
    )
    for path, text in ((WEIGHTS, written(weights, accuracy)), (CARD, card)):
        place = given.out / path.name if given.out else path
        place.write_text(text, "utf-8")
        print(f"wrote {place}")


if __name__ == "__main__":
    main()
