import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.cases import count_scores

from ragstone.errors import Cause
from ragstone.types.questions import VerifyClaims
from ragstone.types.score import Score, State

numbers = st.floats(-1e6, 1e6)
anything = st.one_of(st.none(), st.floats())
details = st.dictionaries(
    st.text(max_size=5), st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text())
)
scores: st.SearchStrategy[Score] = st.one_of(
    st.builds(Score.scored, numbers, detail=details),
    st.builds(Score.undefined, st.text()),
    st.builds(Score.failed, st.sampled_from(Cause), st.text()),
)
texts = st.text(max_size=12)


@given(st.sampled_from(State), anything, st.one_of(st.none(), st.sampled_from(Cause)))
def test_a_score_that_exists_is_consistent(
    state: State, value: float | None, cause: Cause | None
) -> None:
    has_number = value is not None and math.isfinite(value)
    number_fits = has_number if state is State.SCORED else value is None
    if number_fits and (cause is not None) == (state is State.FAILED):
        assert Score(state=state, value=value, cause=cause).value == value
    else:
        with pytest.raises(ValidationError):
            Score(state=state, value=value, cause=cause)


@given(st.lists(scores, max_size=8))
def test_a_summary_counts_every_row_once_and_averages_the_scored(given_: list[Score]) -> None:
    summary = count_scores(given_).summary()
    values = [score.value for score in given_ if score.value is not None]
    assert summary.n == len(given_) == summary.scored + summary.undefined + summary.failed
    assert sum(summary.causes.values()) == summary.failed
    assert (summary.mean is None) == (not values)
    if values:
        assert summary.mean == pytest.approx(sum(values) / len(values), rel=1e-9, abs=1e-6)
    alone = count_scores([score for score in given_ if score.value is not None]).summary()
    assert (alone.mean, alone.interval) == (summary.mean, summary.interval)
    json.dumps(summary.model_dump(mode="json"), allow_nan=False)


@given(st.lists(texts, max_size=3), st.lists(texts, max_size=3))
def test_claims_and_contexts_do_not_run_into_one_another(
    claims: list[str], contexts: list[str]
) -> None:
    one = VerifyClaims(claims=tuple(claims), contexts=tuple(contexts))
    two = VerifyClaims(claims=tuple(contexts), contexts=tuple(claims))
    assert (one.key == two.key) == (claims == contexts)
