import re
from pathlib import Path

from tests.cases import each_case

from ragstone.datasets import LOADERS, WORKBOOKS
from ragstone.datasets.columns import ALIASES, CONVERSATIONS
from ragstone.datasets.detect import SHAPES, Shape
from ragstone.datasets.text_files import ENVELOPES

OTHERS = (Path(__file__).parents[2] / "docs" / "platforms.md").read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@each_case("field", ALIASES)
def test_the_page_has_a_line_for_each_field_with_some_of_its_aliases(field: str):
    [names] = re.findall(rf"^\* `{field}` \((.*?)\)", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", names)) <= set(ALIASES[field])


@each_case("name", [*WORKBOOKS, *LOADERS, *ENVELOPES, *CONVERSATIONS])
def test_the_page_names_every_ending_and_envelope(name: str):
    assert f"`{name}`" in PAGE


@each_case("shape", SHAPES, ids=lambda shape: shape.name)
def test_the_page_of_platforms_names_each_shape(shape: Shape):
    assert shape.name in OTHERS
