from tests.cases import each_case

from ragstone.judges.batching import estimated_tokens


@each_case(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fours", 2),
        ("The battery lasts 20 hours.", 7),
        ("Über größere Äpfel", 5),
        ("Ελληνικά", 2),
        ("Русский", 2),
        ("Việt Nam", 2),
        ("電池は長持ちします", 9),
        ("電池 lasts", 4),
        ("\U0001f600", 1),
        ("\ud800", 1),
    ],
)
def test_four_characters_a_token_and_one_where_each_is_a_word(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


def test_a_text_has_no_more_tokens_than_characters_and_its_parts_no_fewer_than_it() -> None:
    text = "電池 lasts twenty hours. " * 9
    for cut in range(len(text)):
        parts = estimated_tokens(text[:cut]) + estimated_tokens(text[cut:])
        assert estimated_tokens(text) <= parts <= len(text)
