import re

from tests.cases import each_case

from ragstone.judges.llm.parsing.items import ItemFormat, json_items

ANY = re.compile("")
FORMAT = ItemFormat(
    lists=("first", "second"),
    labels=("label",),
    numbers=(),
    words={"yes": True, "no": False},
    label=ANY,
    line=ANY,
)


def found(value: object, due: int = 2) -> tuple[str | None, ...] | None:
    items = json_items(value, due, FORMAT)
    return None if items is None else tuple(item.written for item in items)


@each_case(
    ("value", "items"),
    [
        (["yes", "no"], ("yes", "no")),
        ([{"label": "yes"}, "odd"], ("yes", "odd")),
        ({"first": ["yes"]}, ("yes",)),
        ({"first": ["odd"], "second": ["no"]}, ("no",)),
        ({"other": ["yes"]}, None),
        ([], ()),
        (["odd"], None),
        ("yes", None),
        ({"label": "yes"}, None),
    ],
)
def test_items_are_listed_by_themselves_or_under_a_key(
    value: object, items: tuple[str, ...] | None
) -> None:
    assert found(value) == items


def test_where_one_is_due_it_may_be_one_object() -> None:
    assert found({"label": "yes"}, due=1) == ("yes",)
    assert found({"label": "odd"}, due=1) == ("odd",)
    assert found({"other": "yes"}, due=1) is None
