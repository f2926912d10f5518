from tests.cases import each_case

from ragstone.judges.llm.parsing.json import listed


def found(value: object, due: int = 2) -> tuple[str, ...] | None:
    return listed(
        value,
        due,
        keys=("first", "second"),
        read=lambda entry: str(entry.get("label") if isinstance(entry, dict) else entry),
        known=lambda _, item: item in ("yes", "no"),
    )


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
    assert found({"label": "odd"}, due=1) is None
