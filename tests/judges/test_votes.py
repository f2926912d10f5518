from tests.cases import each_case

from ragstone.judges.panel import tally
from ragstone.types.claim import Grade, Rating
from ragstone.types.questions import DetectAbstention, GradeSentences, RateResponse

ABSTAIN = DetectAbstention(query="q", response="r")
GRADE = GradeSentences(query="q", sentences=("s",))


@each_case(
    ("votes", "relevant", "reason"),
    [
        ("Y", True, "0"),
        ("YYN", True, "0"),
        ("NYY", True, "1"),
        ("YNN", False, "1"),
        ("YN", False, "the judges disagree: 1 relevant, 1 not"),
        ("YNNY", False, "the judges disagree: 2 relevant, 2 not"),
    ],
)
def test_most_grades_count_and_a_tie_is_not_relevant(
    votes: str, relevant: bool, reason: str
) -> None:
    values = [(Grade(relevant=vote == "Y", reason=str(n)),) for n, vote in enumerate(votes)]
    told = tally(GRADE, values)
    assert told.value == (Grade(relevant=relevant, reason=reason),)
    tied = "disagree" in reason
    assert told.notes == (("the judges disagree on 1, taken as not relevant",) if tied else ())


@each_case(
    ("votes", "abstains", "tied"),
    [
        ([True], True, False),
        ([True, False], False, True),
        ([True, True, False], True, False),
        ([True, False, False], False, False),
        ([True, False, True, False], False, True),
    ],
)
def test_a_tie_is_no_abstention(votes: list[bool], abstains: bool, tied: bool) -> None:
    told = tally(ABSTAIN, votes)
    assert (told.value, bool(told.notes)) == (abstains, tied)


@each_case(
    ("levels", "median", "note"),
    [
        ([3], 3, None),
        ([1, 3], 1, "the judges differ by 1 level: 1, 3, taken as 1"),
        ([3, 3, 5], 3, None),
        ([9, 1], 1, "the judges differ by 3 levels: 1, 9, taken as 1"),
        ([3, 5, 5, 9], 5, "the judges differ by 2 levels: 3, 5, 5, 9"),
        ([3, 3, 9], 3, "the judges differ by 2 levels: 3, 3, 9"),
        ([9, 1, 3], 3, "the judges differ by 3 levels: 1, 3, 9"),
        ([5, 5, 9, 9], 5, "the judges differ by 1 level: 5, 5, 9, 9, taken as 5"),
    ],
)
def test_of_levels_the_lower_median_counts_and_two_medians_or_steps_apart_are_told(
    levels: list[int], median: int, note: str | None
) -> None:
    scale = tuple((level, "so") for level in (9, 5, 3, 1))
    question = RateResponse(criteria="c", levels=scale, query="q", response="r")
    told = tally(question, [Rating(level=each, reason=str(each)) for each in levels])
    assert told.value == Rating(level=median, reason=str(median))
    assert told.notes == ((note,) if note else ())


def test_the_two_ends_of_a_scale_of_two_levels_are_no_agreement() -> None:
    question = RateResponse(criteria="c", levels=((1, "bad"), (5, "good")), query="q", response="r")
    told = tally(question, [Rating(level=5), Rating(level=1)])
    assert told.value.level == 1
    assert told.notes == ("the judges differ by 1 level: 1, 5, taken as 1",)
