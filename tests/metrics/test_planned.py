import pytest

from ragstone.errors import UnknownName
from ragstone.metrics import GROUPS, catalogue, get
from ragstone.metrics.planned import PLANNED


def test_the_planned_ones_are_those_of_the_document_that_need_an_llm() -> None:
    assert set(PLANNED) == {"response_relevancy", "context_precision"}


@pytest.mark.parametrize("name", PLANNED)
def test_it_is_described_like_every_other(name: str) -> None:
    info = catalogue()[name]
    assert info.name == name
    assert info.description.endswith(".")
    assert info.family in GROUPS["all"]


@pytest.mark.parametrize("name", PLANNED)
def test_it_gives_no_number(name: str) -> None:
    with pytest.raises(UnknownName):
        get(name)
