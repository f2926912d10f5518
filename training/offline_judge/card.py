"""The model card, with all figures from the trials."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragstone.judges.offline.features import Features
from ragstone.judges.offline.judge import Weights
from training.offline_judge.fitting import LEARNED, PRIOR
from training.offline_judge.measures import SAMPLES, reliability
from training.offline_judge.trials import Trial

GOALS = (("factcheck_gpt",), ("wice_dev", "wice_dev, dev rows"), ("begin",))
"""The sources nearest to RAG answers, each by the sets of rows of it that are measured."""
LEAST = {"balanced accuracy": 0.70, "AUROC": 0.78}
MEASURES = ("AUROC", "balanced accuracy", "F1", "three-way macro-F1", "Brier")

HEAD = Path(__file__).with_name("card_head.md")


def write_card(
    weights: Weights,
    left_out: Sequence[Trial],
    dev: Sequence[Trial],
    without: Sequence[tuple[str, dict[str, list[float]]]],
    precision: Sequence[tuple[str, str, int, int, int]],
) -> str:
    """Return the model card as Markdown."""
    caps = "\n".join(f"| {_CAPS[name]} | {cap:.2f} |" for name, cap in weights.caps.items())
    head = HEAD.read_text("utf-8").format(
        features=len(Features._fields),
        weights="\n".join(f"| {name} | {value:+.2f} |" for name, value in weights.features.items()),
        learned=", ".join(LEARNED),
        threshold=weights.threshold,
        prior=PRIOR,
        half=1 - PRIOR,
        caps=caps,
        no_match=weights.no_match,
        samples=SAMPLES,
    )
    nearest = [trial.given for trial in left_out if trial.name in LEARNED]
    return "\n".join(
        [
            head,
            "## Goals, with the source left out of training\n",
            *_goals({trial.name: trial for trial in left_out}),
            "\n## Each source left out of training in turn\n",
            *_table(left_out),
            "\n## Dev rows, trained on the training rows\n",
            *_table(dev),
            "\n## Without a group of features\n",
            "AUROC / balanced accuracy, each source left out in turn.\n",
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
            "",
        ]
    )


_CAPS: Mapping[str, str] = {
    "figure": "a figure in digits or with a unit that no context states, or another in its place",
    "name": "a name that no context has",
    "negation": "a word negated on one side only",
    "opposite": "an opposite in its place",
}


def _goals(trials: Mapping[str, Trial]) -> list[str]:
    lines = ["| rows | measure | goal | got | met |", "|---|---|--:|--:|---|"]
    for names in GOALS:
        for name in names:
            if name not in trials:
                continue
            got = trials[name].figures["trained"]
            lines.extend(
                f"| {name} | {measure} | {goal:.2f} | {got[measure]} "
                f"| {'yes' if got[measure].value >= goal else 'no'} |"
                for measure, goal in LEAST.items()
            )
    return lines


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
