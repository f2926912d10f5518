from collections.abc import Callable

from ragstone.reports.facts import summarise_run
from ragstone.results.run import Run


def test_a_summary_is_that_of_json_with_titles_and_facts(make_run: Callable[..., Run]) -> None:
    run = make_run()
    told = summarise_run(run)
    assert told.items() >= run.to_dict().items()
    assert told["titles"] == {"hit@5": "Hit@K", "f1@5": "F1@K", "faithfulness": "Faithfulness"}
    assert {"label": "Policy", "text": "strict", "alarming": False} in told["facts"]  # type: ignore[operator]
