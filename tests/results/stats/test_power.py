"""Plans: the questions, repeats and labels they name give the power they promise."""

from ragstone.results.stats.paired_tests import labels_needed, questions_needed, sign_flip


def test_a_plan_equals_the_textbook() -> None:
    # Cohen (1988), table 2.4.1 for paired differences: d = 0.5 needs 34 pairs, d = 0.2 needs 199
    assert questions_needed(1.0, 0.5) == 34
    assert questions_needed(1.0, 0.2) == 199
    assert questions_needed(1.0, 0.5, power=0.9) == 44
    assert questions_needed(1.0, 0.5, alpha=0.01) == 51


def test_a_plan_has_enough_pairs_for_the_test_to_reject_anything() -> None:
    assert questions_needed(0.0, 0.1) == 6
    assert sign_flip([0.1] * 6).can_reject()
    assert not sign_flip([0.1] * 5).can_reject()
    assert questions_needed(0.0, 0.1, alpha=0.01) == 8


def test_a_good_judge_and_more_questions_save_labels() -> None:
    # without a judge: 1 / 500 = 1 / n + 1 / (0.5 n)² + 4 / n²
    assert labels_needed(500, 1000, 0.0, spread=0.5) == 508
    # scores that vary by 30 % of what 0 and 1 would: 1 / 500 = 1 / n + (0.09 / 0.25 + 1.2) / n²
    assert labels_needed(500, 1000, 0.0, spread=0.5, trial=0.3) == 502
    useless, fair, good = (labels_needed(500, 1000, r, spread=0.5) for r in (0.1, 0.6, 0.95))
    assert useless > 490 > fair > 420 > 200 > good
    assert labels_needed(500, 4000, 0.6, spread=0.5) < fair
    assert labels_needed(500, 1000, 0.6, spread=0.1) > fair + 30, "scores that hardly vary"
