"""The first version of the offline judge, a rule with a threshold, as a baseline."""

from ragstone.judges.offline.features import ClaimMatch

SUPPORT = 0.4
"""The coverage from which a claim counted as supported."""
MAX_CONFIDENCE = 0.9


def judge_first(match: ClaimMatch) -> tuple[float, int]:
    """Return the support of a claim, from 0 to 1, and its label as in `Table`."""
    covered, conflict = match.coverage(), match.conflict
    if match.missing_figures():
        covered = max(0.0, min(covered, SUPPORT - 0.01))
    if conflict and not conflict.other_subject:
        return 1 - min(MAX_CONFIDENCE, 0.5 + 0.5 * match.window.coverage), 1
    if covered >= SUPPORT and conflict is None:
        return min(1.0, 0.5 + 0.5 * (covered - SUPPORT) / (1 - SUPPORT)), 0
    return 0.5 - 0.5 * max(0.0, 1 - covered / SUPPORT), 2
