import copy

from ragstone.reports.html.samples import drop_repeated_texts, sample_document
from ragstone.results.run import Run


def told_of(run: Run) -> dict:
    return sample_document(run.rows[0], {})


def test_what_a_text_has_at_its_place_is_left_out(judged: Run) -> None:
    claims = drop_repeated_texts(told_of(judged))["scores"]["faithfulness"]["claims"]  # type: ignore[index]
    assert [(each["text"], [item["quote"] for item in each["evidence"]]) for each in claims] == [
        (None, [None]),
        (None, [None]),
        ("It is light.", []),
    ]


def test_other_words_stay(judged: Run) -> None:
    told = told_of(judged)
    first, second, _ = told["scores"]["faithfulness"]["claims"]
    first["text"] = "The battery lasts 20 hours."
    first["evidence"][0]["quote"] = "lasts  up to 20 hours"
    second["evidence"][0] |= {"context": 7, "start": None, "end": None}
    kept = copy.deepcopy([first, {**second, "text": None}])
    assert drop_repeated_texts(told)["scores"]["faithfulness"]["claims"][:2] == kept  # type: ignore[index]


def test_nothing_is_written_into_what_was_given(judged: Run) -> None:
    told = told_of(judged)
    was = copy.deepcopy(told)
    drop_repeated_texts(told)
    assert told == was


def test_a_sample_without_texts_has_no_repeats(judged: Run) -> None:
    told = told_of(judged) | {"contexts": None, "response": None}
    claims = drop_repeated_texts(told)["scores"]["faithfulness"]["claims"]  # type: ignore[index]
    assert claims == told["scores"]["faithfulness"]["claims"]
