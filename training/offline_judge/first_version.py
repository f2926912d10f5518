"""The first version of the offline judge: a rule with a threshold, kept as a baseline."""

from ragstone.judges.offline.features import Reading, digits_lacking, strength

SUPPORT = 0.4
"""The strength from which a claim counted as supported."""
MOST_SURE = 0.9


def judge_first(reading: Reading) -> tuple[float, int]:
    """Return how supported a claim was held to be, from 0 to 1, and its label as in `Table`."""
    held, conflict = strength(reading), reading.conflict
    if digits_lacking(reading.claim, reading.everywhere):
        held = max(0.0, min(held, SUPPORT - 0.01))
    if conflict and not conflict.of_another:
        return 1 - min(MOST_SURE, 0.5 + 0.5 * reading.window.coverage), 1
    if held >= SUPPORT and conflict is None:
        return min(1.0, 0.5 + 0.5 * (held - SUPPORT) / (1 - SUPPORT)), 0
    return 0.5 - 0.5 * max(0.0, 1 - held / SUPPORT), 2
