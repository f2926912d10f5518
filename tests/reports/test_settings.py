from ragstone.reports.facts import changed_settings
from ragstone.types.config import Plan


def told(*but: str, **said: object) -> dict[str, str]:
    options = Plan.of(said).model_dump(mode="json", exclude_none=True)
    return dict(changed_settings(options, but=but))


def test_what_is_at_its_default_is_not_told() -> None:
    assert told() == {}


def test_what_stands_elsewhere_is_not_told_again() -> None:
    assert told("sheet", judge="openai:x", target="http://x", k=3, sheet="One") == {"k": "3"}


def test_what_was_chosen_is_told_in_words() -> None:
    said = told(cache=False, batch_size=5, columns={"query": "Frage"}, include_reason=True)
    assert said == {
        "cache": "no", "batch size": "5", "columns": "query=Frage", "include reason": "yes"
    }  # fmt: skip


def test_options_of_another_version_are_told() -> None:
    assert changed_settings({"of_old": [1, 2]}) == (("of old", "1, 2"),)
