import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.offline.dates import find_runs, match_runs


@pytest.mark.parametrize("pattern", [r"(?<![\d.,])\d{1,2}[:.]\d{2}", r"(?<![\d/])\d+(?:/\d+)*"])
@given(text=st.text("0123456789:./, a"))
def test_matches_are_those_of_finditer(pattern, text):
    compiled = re.compile(pattern)
    found = [match.span() for match in match_runs(compiled, text, find_runs(text))]
    assert found == [match.span() for match in compiled.finditer(text)]
