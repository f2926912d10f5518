"""The real `promptfoo eval` with our assertion: it passes, fails, and never passes for nothing."""

import json
from collections.abc import Mapping

from aiohttp import web

FILES = {"faithfulness.py": "from ragstone.integrations.promptfoo import get_assert\n"}
CONTEXT = "The Eiffel Tower is 330 metres tall. It was completed in 1889."
FAITHFUL = "The Eiffel Tower is 330 metres tall."
WRONG = "The Eiffel Tower is 330 metres tall. It was completed in 1925."
CHAT = "/v1/chat/completions"


def asserted(
    answer: str, config: Mapping[str, object] | None = None, *, kind: str = "python", **also: object
) -> dict[str, object]:
    """One test: what the echo provider is to answer, and how that is judged."""
    one = {"type": kind, "value": "file://faithfulness.py", "config": config or {}, **also}
    query = "How tall is the tower, and when was it built?"
    return {"vars": {"said": answer, "query": query, "context": CONTEXT}, "assert": [one]}


def echoing(*tests: object) -> dict[str, object]:
    return {"prompts": ["{{said}}"], "providers": ["echo"], "tests": list(tests)}


async def test_the_real_program_passes_and_fails_as_it_should(promptfoo) -> None:
    done = await promptfoo(
        echoing(
            asserted(FAITHFUL, {"threshold": 0.8}),
            asserted(WRONG, {"threshold": 0.8}),
            asserted(WRONG, threshold=0.4),
            asserted(WRONG, {"threshold": 0.8}, kind="not-python"),
            asserted(FAITHFUL, {"metrics": "hit"}),
            asserted("I cannot say.", kind="not-python"),
        ),
        FILES,
    )
    assert [test["success"] for test in done.tests] == [True, False, True, True, False, False]
    assert [test["score"] for test in done.tests] == [1, 0.5, 0.5, 0.5, 0, 0]
    assert done.code == 100
    first, second, *_, odd, nothing = done.tests
    assert first["namedScores"] == {"faithfulness": 1}
    said = 'Faithfulness 0.50 is < 0.8; NOT_ENOUGH_INFO: "It was completed in 1925."'
    assert second["gradingResult"]["reason"] == said
    whole, *claims = second["gradingResult"]["componentResults"]
    assert [claim["pass"] for claim in whole["componentResults"]] == [True, False]
    assert [claim["score"] for claim in claims] == [1, 0]
    assert "no setting of this assertion named 'metrics'; did you mean 'metric'?" in odd["error"]
    assert "is undefined for this test: the response makes no claims" in nothing["error"]


async def test_a_judge_that_refuses_never_passes(promptfoo, faulty, behave) -> None:
    message = {"role": "assistant", "content": None, "refusal": "I will not."}
    reply = {"choices": [{"finish_reason": "stop", "message": message}], "usage": {}}
    faulty.script(CHAT, behave.reply(reply))
    config = {"judge": "openai:m", "base_url": f"{faulty.url}/v1", "cache": False, "retries": 0}
    made_up = {**config, "preset": "promptfoo-plan"}
    done = await promptfoo(
        echoing(
            asserted(FAITHFUL, config),
            asserted(FAITHFUL, config, kind="not-python"),
            asserted(FAITHFUL, made_up, threshold=0),
            asserted(FAITHFUL, made_up, kind="not-python"),
        ),
        FILES,
    )
    assert faulty.called(CHAT)
    assert not any(test["success"] for test in done.tests)
    errors = [str(test["error"]) for test in done.tests]
    assert all("faithfulness was not judged (refusal)" in error for error in errors[:2])
    assert all("was not judged; 0.0 was imputed" in error for error in errors[2:])


async def test_tokens_are_counted_as_the_real_program_counts_them(promptfoo, faulty) -> None:
    """Once with calls, once from both caches; both assertions make two calls of the same size."""
    details = {"reasoning": 2, "accepted_prediction": 3, "rejected_prediction": 1}
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 10,
        "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {f"{name}_tokens": n for name, n in details.items()},
    }

    async def reply(request: web.Request) -> web.Response:
        asked = await request.json()
        text = "It is high.\nFinal verdict for each statement in order: Yes. Yes."
        if schema := asked.get("response_format"):
            verdicts = {"verdicts": [{"claim": 1, "reason": "so", "label": "SUPPORTED"}]}
            labelled = "label" in json.dumps(schema)
            text = json.dumps(verdicts if labelled else {"claims": [FAITHFUL]})
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return web.json_response({"choices": [choice], "usage": usage})

    faulty.script(CHAT, reply)
    url = f"{faulty.url}/v1"
    test = asserted(FAITHFUL, {"judge": "openai:m", "base_url": url})
    test["assert"] = [{"type": "context-faithfulness"}, *test["assert"]]  # type: ignore[misc]
    test["options"] = {"provider": {"id": "openai:chat:m", "config": {"apiBaseUrl": url}}}
    for cached in (0, 220):
        done = await promptfoo(echoing(test), FILES, cache=True, OPENAI_API_KEY="none")
        [found] = done.tests
        theirs, ours, *_ = found["gradingResult"]["componentResults"]
        assert (theirs["pass"], ours["pass"]) == (True, True)
        counted = {"cached": 0, "completionDetails": {}, **ours["tokensUsed"]}
        assert (counted["total"], counted["cached"]) == (220, cached)
        for name in ("total", "prompt", "completion", "cached", "numRequests"):
            assert counted[name] == theirs["tokensUsed"][name], name
        for name, number in counted["completionDetails"].items():
            assert number == theirs["tokensUsed"]["completionDetails"].get(name, 0), name
    assert len(faulty.called(CHAT)) == 4


async def test_the_environment_turns_ragas_mode_on_in_the_real_program(promptfoo) -> None:
    """The config of an assertion takes precedence, as on the command line."""
    done = await promptfoo(
        echoing(
            asserted(FAITHFUL),
            asserted(FAITHFUL, {"policy": "strict"}),
            asserted(FAITHFUL, {"preset": "ragas"}),
        ),
        FILES,
        PROMPTFOO_RAGAS_FAITHFULNESS="yes",
    )
    metrics = [
        test["gradingResult"]["componentResults"][0]["metadata"]["metric"] for test in done.tests
    ]
    assert metrics == [
        "faithfulness:promptfoo-plan,batch_size=5,threshold=0.5",
        "faithfulness,threshold=0.5",
        "faithfulness:ragas,threshold=0.5",
    ]
