import pytest

from ragstone.errors import UsageError
from ragstone.metrics import BPref, get
from ragstone.types.rankings import Rankings

# Relevant are a, b and c (R = 3), judged not relevant v, w and x (N = 3), so min(R, N) is 3; y is
# not judged.
#   q1  a y b c v        none before any of them: 1
#   q2  a v b y w c      1 + (1 - 1/3) + (1 - 2/3), over 3: 2/3
#   q3  v w x a          1 - 3/3: 0
#   q4  y b              1, the others did not come back: 1/3
#   q5  v y              0
#   q6  (none)           0
RANKINGS = Rankings.of(
    [list(ids) for ids in ("aybcv", "avbywc", "vwxa", "yb", "vy", "")],
    [{"a": 3, "b": 1, "c": 1, "v": 0, "w": 0, "x": 0}] * 6,
)


def test_the_worked_example() -> None:
    values = BPref().values(RANKINGS).tolist()
    assert values == pytest.approx([1, 2 / 3, 0, 1 / 3, 0, 0], abs=1e-12)


def test_with_less_not_relevant_than_relevant_it_divides_by_the_less() -> None:
    rankings = Rankings.of([list("avb")], [{"a": 1, "b": 1, "c": 1, "v": 0}])
    assert BPref().values(rankings).tolist() == pytest.approx([1 / 3])


def test_no_more_count_than_are_relevant() -> None:
    rankings = Rankings.of([list("vwxa")], [{"a": 1, "v": 0, "w": 0, "x": 0}])
    assert BPref().values(rankings).tolist() == [0]


@pytest.mark.parametrize("known", [{"a": 1}, {"a": 1, "v": -1}])
def test_what_is_not_judged_or_below_0_is_ignored(known: dict[str, float]) -> None:
    assert BPref().values(Rankings.of([["v", "a"]], [known])).tolist() == [1]


def test_nothing_relevant_is_0() -> None:
    assert BPref().values(Rankings.of([["x"]], [{"x": 0}])).tolist() == [0]


def test_it_has_no_cut_off() -> None:
    with pytest.raises(UsageError, match="no parameter k"):
        get("bpref@5")
