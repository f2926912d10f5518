import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.datasets.rankings.byte_arrays import Texts
from ragstone.datasets.rankings.trec import numbers, singles

finite = st.floats(allow_nan=False, allow_infinity=False)
written = st.one_of(
    finite.map(repr),
    st.integers(-(10**12), 10**20).map(str),
    st.builds("{:.{}f}".format, st.floats(-1e9, 1e9), st.integers(0, 20)),
    st.builds("{:.{}e}".format, finite, st.integers(0, 20)),
    st.from_regex(r"\A[+-]?[0-9]{0,12}\.?[0-9]{0,20}\Z"),
    st.sampled_from(
        [
            "1.00000000000000001590e+100",
            "inf",
            "-Infinity",
            ".5",
            "5.",
            "-0",
            "00012.5000",
            "1" * 25,
        ]
    ),
)
odd = st.text("0123456789.eE+-_ nainf", max_size=12)


def expected(text: str) -> float | None:
    """What Python reads, but for what only Python takes for a number."""
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) or "_" in text or text != text.strip() else value


@given(st.lists(written | odd, max_size=20))
def test_each_number_is_the_one_that_python_reads(texts: list[str]) -> None:
    values, wrong = numbers(Texts.of(texts))
    for place, text in enumerate(texts):
        value = expected(text)
        assert (value is None) == (place in wrong.tolist()), text
        if value is not None:
            assert values[place] == value, text
            assert math.copysign(1, values[place]) == math.copysign(1, value)


@pytest.mark.filterwarnings("ignore:overflow")
@given(st.lists(written | odd, max_size=20))
def test_in_single_precision_they_are_rounded_from_doubles(texts: list[str]) -> None:
    values, wrong = singles(Texts.of(texts))
    for place, text in enumerate(texts):
        if place not in wrong.tolist():
            assert values[place] == np.float32(expected(text)), text


@each_case("offset", range(-6, 7))
def test_a_number_half_way_between_two_singles_is_rounded_as_its_double(offset: int) -> None:
    """Seventeen digits are read in two roundings, which could tip what stands in the middle."""
    double = np.array([1.0 + 2.0**-24]).view(np.uint64)
    value = float((double + np.uint64(offset + 100) - np.uint64(100)).view(np.float64)[0])
    for text in (repr(value), f"{value:.17f}", f"{value:.18f}"):
        assert singles(Texts.of([text]))[0][0] == np.float32(float(text))


@each_case("text", ["nan", "", "-", ".", "1_0", "1,5", "0x10", "٣", "1e", "--1", "e5"])
def test_what_is_no_number_is_told(text: str) -> None:
    assert numbers(Texts.of(["1.5", text, "2"]))[1].tolist() == [1]
