from pathlib import Path

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.types.reply import Reply, Usage

PAGE = (Path(__file__).parents[3] / "docs/platforms.md").read_text(encoding="utf-8")


def test_every_attribute_is_on_the_page(kept, telling) -> None:
    judge = ScriptedJudge({"extract_claims": Reply((), Usage(calls=1)), "verify_claims": []})
    sample = {"query": "q", "response": "r", "contexts": ["c"], "reference": "e"}
    metric = "faithfulness:ragaliq"
    evaluate([sample], metrics=metric, judge=judge, tracing=telling("true"))
    told = {
        *(name for span in kept.spans for name in span.attributes),
        *(name for event in kept.events for name in event.log_record.attributes),
    }
    assert {"gen_ai.evaluation.explanation", "ragstone.sample.contexts"} <= told
    for name in told:
        end = f"`.{name.rpartition('.')[2]}`"
        assert f"`{name}`" in PAGE or (name.startswith("ragstone.") and end in PAGE), name
