"""The model card, with all figures from the trials."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragstone.judges.offline.judge import DEFAULTS
from ragstone.judges.offline.matching import Features
from training.offline_judge.fitting import LEARNED, MAX_FACTOR, PRIOR, Weights
from training.offline_judge.measures import SAMPLES, calibration, reliability
from training.offline_judge.trials import STEPS, Trial

MEASURES = ("AUROC", "balanced accuracy", "F1", "Brier")

HEAD = Path(__file__).with_name("card_head.md")


def write_card(
    weights: Weights,
    accuracy: float,
    left_out: Sequence[Trial],
    dev: Sequence[Trial],
    without: Sequence[tuple[str, dict[str, list[float]]]],
    several: Sequence[tuple[str, int, list[float]]],
    precision: Sequence[tuple[str, str, int, int, int]],
) -> str:
    """Return the model card as Markdown."""
    factors = "\n".join(f"| {_KINDS[name]} | {by:.2f} |" for name, by in weights.factors.items())
    head = HEAD.read_text("utf-8").format(
        features=len(Features._fields),
        weights="\n".join(f"| {name} | {value:+.2f} |" for name, value in weights.features.items()),
        learned=", ".join(LEARNED),
        threshold=DEFAULTS.threshold,
        prior=PRIOR,
        half=1 - PRIOR,
        factors=factors,
        offset=weights.offset,
        most=MAX_FACTOR,
        samples=SAMPLES,
        accuracy=accuracy,
    )
    nearest = [trial.given for trial in left_out if trial.name in LEARNED]
    return "\n".join(
        [
            head,
            "## Each source left out of training in turn\n",
            *_table(left_out),
            "\n## Threshold\n",
            "Balanced accuracy of responses with several claims, each source left out in turn.\n",
            f"| source | responses | {' | '.join(map(str, STEPS))} |",
            f"|---|--:|{'--:|' * len(STEPS)}",
            *(
                f"| {source} | {count} | {' | '.join(f'{value:.3f}' for value in found)} |"
                for source, count, found in several
            ),
            "\n## Dev rows, trained on the training rows\n",
            *_table(dev),
            "\n## Without a group of features\n",
            "AUROC / balanced accuracy at the default threshold, each source left out in turn.\n",
            *_ablations(without),
            "\n## Reasons\n",
            "Responses with one claim; contradicted only if people distinguish that.\n",
            "| reason | source | claims | supported | contradicted |",
            "|---|---|--:|--:|--:|",
            *("| " + " | ".join(map(str, line)) + " |" for line in precision),
            "\n## Reliability, each source left out in turn\n",
            f"Sources: {', '.join(LEARNED)}, equally weighted, at the prior of the model.\n",
            "| probability | share of rows | mean probability | supported |",
            "|---|--:|--:|--:|",
            *(
                f"| {int(said * 10) / 10:.1f}–{int(said * 10) / 10 + 0.1:.1f} | {share:.2f} "
                f"| {said:.2f} | {found:.2f} |"
                for share, said, found in reliability(nearest)
            ),
            "\n## Calibration by source, each left out in turn\n",
            "At the base rate. ECE is the mean difference of probability and share supported.\n",
            "| source | ECE | SUPPORTED says | is right | the others say | are right |",
            "|---|--:|--:|--:|--:|--:|",
            *(
                f"| {' | '.join([trial.name, *map('{:.2f}'.format, calibration(trial.given))])} |"
                for trial in left_out
                if "," not in trial.name
            ),
            "",
        ]
    )


_KINDS: Mapping[str, str] = {
    "figure": "a figure in digits or with a unit that no sentence about the subject states",
    "name": "a name whose first four letters no word of the contexts has",
    "negation": "a word negated on one side only",
}


def _table(trials: Sequence[Trial]) -> list[str]:
    lines = [
        f"| rows | judge | {' | '.join(MEASURES)} |",
        f"|---|---|{'--:|' * len(MEASURES)}",
    ]
    for trial in trials:
        said = f"{trial.name}: {trial.rows}, {trial.supported:.0%} supported"
        if trial.leaking:
            said += f"; {trial.leaking} left out of training"
        for judge, figures in trial.figures.items():
            cells = [str(figures[name]) if name in figures else "" for name in MEASURES]
            lines.append(f"| {said} | {judge} | {' | '.join(cells)} |")
            said = ""
    return lines


def _ablations(without: Sequence[tuple[str, dict[str, list[float]]]]) -> list[str]:
    sources = list(without[0][1]) if without else []
    lines = [f"| without | {' | '.join(sources)} |", f"|---|{'--:|' * len(sources)}"]
    for group, found in without:
        cells = (f"{area:.3f} / {accuracy:.3f}" for area, accuracy in found.values())
        lines.append(f"| {group} | {' | '.join(cells)} |")
    return lines
