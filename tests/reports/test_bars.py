import math

from tests.cases import each_case

from ragstone.metrics import get
from ragstone.reports.terminal import ASCII_BARS, BAR_CELLS, UNICODE_BARS, bar, bar_style
from ragstone.results.metric_summary import MetricSummaryBuilder
from ragstone.types.score import MetricInfo, Score, Summary

UNIT = get("hit@5").described
GRADE = UNIT.model_copy(update={"low": 1.0, "high": 5.0})
ENDLESS = UNIT.model_copy(update={"high": math.inf})


def summary(mean: float | None, ends: tuple[float, float] | None) -> Summary:
    empty = MetricSummaryBuilder().summary()
    return empty.model_copy(update={"mean": mean, "interval": ends})


@each_case(
    ("mean", "ends", "info", "drawn", "plain"),
    [
        (0.25, (0.01, 0.89), UNIT, "├█──────┤·", "[#------]."),
        (0.88, (0.84, 0.92), UNIT, "████████├┤", "########[]"),
        (0.55, (0.2, 0.8), UNIT, "██├███─┤··", "##[###-].."),
        (0.34, (0.31, 0.36), UNIT, "███│······", "###|......"),
        (0.0, (0.0, 0.04), UNIT, "│·········", "|........."),
        (1.0, (0.96, 1.0), UNIT, "█████████│", "#########|"),
        (0.3, (0.3, 0.3), UNIT, "███│······", "###|......"),
        (0.5, None, UNIT, "█████·····", "#####....."),
        (3.0, (2.0, 4.0), GRADE, "██├██──┤··", "##[##--].."),
        (7.0, (6.0, 8.0), GRADE, "█████████│", "#########|"),
        (None, None, UNIT, "", ""),
        (0.5, (0.4, 0.6), ENDLESS, "", ""),
    ],
)
def test_a_bar_reaches_to_the_mean_and_has_the_intervals_ends_marked(
    mean: float | None, ends: tuple[float, float] | None, info: MetricInfo, drawn: str, plain: str
) -> None:
    seen = bar(summary(mean, ends), info)
    assert bar(summary(mean, ends), info, ASCII_BARS) == plain
    assert len(plain) in (0, BAR_CELLS)
    assert seen == drawn


def test_any_scores_make_a_whole_bar() -> None:
    for scored in range(1, 40):
        values = [Score.scored((scored * place % 11) / 10) for place in range(scored)]
        assert len(bar(MetricSummaryBuilder.of(values).summary(), UNIT)) == BAR_CELLS


@each_case(
    ("encoding", "signs"),
    [
        ("utf-8", UNICODE_BARS),
        ("cp437", UNICODE_BARS),
        ("cp1252", ASCII_BARS),
        ("ascii", ASCII_BARS),
        ("no such", ASCII_BARS),
    ],
)
def test_a_terminal_gets_signs_that_it_can_show(encoding: str, signs: object) -> None:
    assert bar_style(encoding) is signs
