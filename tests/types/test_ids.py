from tests.cases import each_case

from ragstone.types.ids import IdCheck


def checked(retrieved: str, judged: str, *, rows: int = 2, matched: int = 1) -> str:
    check = IdCheck(rows, matched)
    check.compare(0, ["other", retrieved], ["q", judged])
    return check.warning("row") or ""


@each_case(
    ("one", "other"),
    [
        ("007", "7"),
        ("doc-012", "doc-12"),
        ("manual.pdf#3", "manual.pdf"),
        ("manual.pdf_3", "manual.pdf#3"),
        ("5.0", "5"),
        ("https://example.org/faq/refunds", "refunds"),
        ("文書_3", "文書"),
    ],
)
def test_nearly_equal_ids_are_an_example(one: str, other: str) -> None:
    for retrieved, judged in ((one, other), (other, one)):
        words = checked(retrieved, judged)
        assert words.startswith("few retrieved ids are among the relevant ids, in 1 of 2 rows")
        assert f"nearly equal: retrieved {retrieved.strip()}, relevant {judged.strip()})" in words
        assert words.endswith("check that both use the same ids")
        assert not checked(retrieved, judged, rows=3, matched=2)


@each_case(
    ("one", "other"),
    [("d1", "d10"), ("doc_5", "news_5"), ("a#1", "a#2"), ("17", "7"), ("cat", "cats")],
)
def test_other_ids_are_an_example_only_if_no_row_matches(one: str, other: str) -> None:
    assert not checked(one, other)
    assert "in any of 2 rows (first: retrieved other, relevant q)" in checked(one, other, matched=0)
    assert IdCheck().warning("row") is None
