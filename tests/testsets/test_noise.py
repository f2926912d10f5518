import re

from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.testsets.noise import add_typos, keep_keywords

QUERIES = (
    "How long does the battery of the Tarn 4 last without charging?",
    "Wie lange hält der Akku des Tarn 4 bei 15 W?",
    "Combien coûte la batterie du Tarn 4 ?",
    "Сколько времени заряжается телефон Tarn 4?",
    "What does https://orvane.example/help say about X-200 and O'Neill?",
)


@each_case("query", QUERIES)
def test_typing_errors_spare_figures_and_names(query: str) -> None:
    seen = set()
    for seed in range(20):
        changed = add_typos(query, f"{seed}")
        assert changed is not None
        assert changed == add_typos(query, f"{seed}")
        assert changed != query
        before, after = query.split(), changed.split()
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            if old != new:
                assert old[0] == new[0]
                assert old.strip("?.").isalpha()
                assert abs(len(old) - len(new)) <= 1
        kept = re.findall(r"\d+|Tarn|Akku|https\S+|X-200|O'Neill", query)
        assert kept == re.findall(r"\d+|Tarn|Akku|https\S+|X-200|O'Neill", changed)
        seen.add(changed)
    assert len(seen) > 3


@each_case(
    ("query", "keywords"),
    [
        (QUERIES[0], "long battery Tarn 4 last without charging"),
        (QUERIES[1], "lange hält Akku Tarn 4 bei 15 W"),
        ("Which phones cannot charge under 80 percent?", "phones cannot charge under 80 percent"),
        ("What is the warranty?", None),  # one word is no query
        ("Tarn 4 price", None),  # keywords already
        ("バッテリーはどれくらい持ちますか", None),
        ("", None),
    ],
)
def test_keywords(query: str, keywords: str | None) -> None:
    assert keep_keywords(query) == keywords


@each_case(
    "query", ["バッテリーはどれくらい持ちますか", "كم تدوم البطارية؟", "Tarn 4?", "A B C", ""]
)
def test_no_typing_error_where_no_word_is_safe(query: str) -> None:
    assert add_typos(query, "0") is None


@given(st.text(), st.integers())
def test_any_text(query: str, seed: int) -> None:
    changed = add_typos(query, f"{seed}")
    assert changed != query
    if changed is not None:
        assert sorted(filter(str.isdigit, changed)) == sorted(filter(str.isdigit, query))
    keywords = keep_keywords(query)
    if keywords is not None:
        assert set(re.findall(r"\d", query)) == set(re.findall(r"\d", keywords))
