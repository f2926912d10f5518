"""Card: the model card, every figure of it from the trials."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ragstone.judges.offline.features import Traits
from ragstone.judges.offline.judge import Weights
from training.offline_judge.fitting import LEARNED, PRIOR
from training.offline_judge.measures import SAMPLES, reliability
from training.offline_judge.trials import Trial

GOALS = (("factcheck_gpt",), ("wice_dev", "wice_dev, dev rows"), ("begin",))
"""The sources nearest to RAG answers, each by the sets of rows of it that are measured."""
LEAST = {"balanced accuracy": 0.70, "AUROC": 0.78}
MEASURES = ("AUROC", "balanced accuracy", "F1", "three-way macro-F1", "Brier")

HEAD = Path(__file__).with_name("card_head.md")


def write_card(weights: Weights, left_out: Sequence[Trial], dev: Sequence[Trial]) -> str:
    """Return the model card as Markdown."""
    ceilings = "\n".join(
        f"| {_SEEN[seen]} | {most:.2f} |" for seen, most in weights.ceilings.items()
    )
    head = HEAD.read_text("utf-8").format(
        traits=len(Traits._fields),
        weights="\n".join(f"| {name} | {value:+.2f} |" for name, value in weights.traits.items()),
        learned=", ".join(LEARNED),
        mark=weights.mark,
        prior=PRIOR,
        half=1 - PRIOR,
        ceilings=ceilings,
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
            "\n## Reliability, each source left out in turn\n",
            f"Over {', '.join(LEARNED)}, each counted alike, at the prior of the probabilities.\n",
            "| said | share of rows | mean said | found supported |",
            "|---|--:|--:|--:|",
            *(
                f"| {int(said * 10) / 10:.1f}–{int(said * 10) / 10 + 0.1:.1f} | {share:.2f} "
                f"| {said:.2f} | {found:.2f} |"
                for share, said, found in reliability(nearest)
            ),
            "",
        ]
    )


_SEEN: Mapping[str, str] = {
    "figure": "another number or date",
    "name": "another name",
    "negation": "a negation on one side",
    "opposite": "an opposite",
    "another": "one of these, perhaps of another subject",
    "digits": "a figure in digits that no context states",
    "unnamed": "a name that no context has",
    "nothing": "no word of the claim in the contexts",
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
