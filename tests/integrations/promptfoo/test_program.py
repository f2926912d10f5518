"""`ragstone run promptfooconfig.json` and the real program, on one configuration and one judge."""

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest
from aiohttp import web

from ragstone.datasets import load

CHAT = "/v1/chat/completions"
CASE = "CASE-"
FOUR = "It is high.\nIt is old.\nIt has a clock.\nA guild built it."
ORDER = "Final verdict for each statement in order:"
MANY = "\n".join(f"Statement {number} of many." for number in range(1, 26))
REPLIES = [
    (FOUR, f"1. It follows. Verdict: Yes.\n2. It does not.\n{ORDER} Yes. No. Yes. Yes."),
    (FOUR, f"{ORDER} Yes. Yes. Yes. Yes."),
    (FOUR, f"{ORDER} No. No. No. No."),
    (FOUR, f"{ORDER} yes. no. YES. No"),
    (FOUR, f"**{ORDER}** Yes. Yes. No. No."),
    (FOUR, f"{ORDER}\nYes.\nNo.\nYes.\nNo."),
    (FOUR, f"{ORDER} Yes, No, Yes, Yes."),
    (FOUR, f"{ORDER} Yes. No."),
    (FOUR, f"{ORDER} Yes. No. Yes. Yes. No. No."),
    (FOUR, f"{ORDER} Yes. Yes. No. Yes. I hope that this helps."),
    (FOUR, "verdict: yes\nverdict: no\nVerdict: Yes\nVERDICT: NO"),
    (FOUR, "It all follows from the contexts."),
    (FOUR, "I cannot say whether it does."),
    (FOUR, '{"verdicts": [1, 0, 1, 1]}'),
    ("I am sorry, but I cannot do that.", "I am sorry, but I cannot do that."),
    ("- It is high.\n\n  \n- It is old.\r\n", f"{ORDER} Yes. No."),
    ("It is high.\nIt is high.\nIt is high.", f"{ORDER} Yes. Yes. No."),
    (MANY, f"{ORDER} {'Yes. ' * 19}{'No. ' * 6}"),
    ("Er ist hoch, à peu près 70 m – 高い。", f"{ORDER} Yes."),
    ("   \n\n", f"{ORDER} Yes."),
]
"""What a judge writes when it is asked for statements, and for verdicts on them."""


@pytest.fixture
def scripted(faulty):
    """Answer by the case that the prompt names last: its statements first, then its verdicts."""

    def start(replies: list[tuple[str, ...]]) -> None:
        came = dict.fromkeys(range(len(replies)), 0)

        async def reply(request: web.Request) -> web.Response:
            asked = (await request.json())["messages"][-1]["content"]
            case = int(asked.rpartition(CASE)[2].split()[0])
            text = replies[case][came[case]]
            came[case] += 1
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            return web.json_response({"choices": [choice], "usage": {}})

        faulty.script(CHAT, reply)

    return start


def configuration(url: str, count: int, **assertion: object) -> dict[str, object]:
    grader = {"id": "openai:chat:m", "config": {"apiBaseUrl": f"{url}/v1"}}
    tests = [
        {
            "vars": {"query": f"which {CASE}{case} ?", "context": f"words {CASE}{case} here"},
            "providerOutput": f"An answer, {CASE}{case} .",
        }
        for case in range(count)
    ]
    asserted = [{"type": "context-faithfulness", **assertion}]
    return {
        "prompts": ["{{query}}"],
        "providers": ["echo"],
        "defaultTest": {"assert": asserted, "options": {"provider": grader}},
        "tests": tests,
    }


async def ragstone(folder: Path, *arguments: str, **env: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ragstone", "run", "promptfooconfig.json", *arguments),
        cwd=folder,
        env={
            "PATH": os.environ["PATH"],
            "OPENAI_API_KEY": "none",
            "COLUMNS": "120",
            "RAGSTONE_TRUST": "1",
            **env,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, out.decode(), err.decode()


def written(folder: Path, config: dict[str, object]) -> None:
    (folder / "promptfooconfig.json").write_text(json.dumps(config), encoding="utf-8")


def scores(folder: Path) -> list[dict]:
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [next(iter(json.loads(line)["scores"].values())) for line in lines]


async def test_twenty_replies_come_to_the_numbers_of_the_real_program(
    promptfoo, scripted, faulty, tmp_path: Path
) -> None:
    """A number that the policy made up passes nothing here; all else passes alike."""
    assert len(REPLIES) == 20
    config = configuration(faulty.url, len(REPLIES), threshold=0.5)
    scripted(REPLIES)
    theirs = (await promptfoo(config, {}, OPENAI_API_KEY="none")).tests
    scripted(REPLIES)
    written(tmp_path, config)
    code, _, said = await ragstone(
        tmp_path, "--rows", "rows.jsonl", "--no-export", "--no-store", "--max-failure-rate", "100%"
    )
    ours = scores(tmp_path)
    *judged, (no_claims, theirs_of_none) = zip(ours, theirs, strict=True)
    assert [one["value"] for one, _ in judged] == pytest.approx([two["score"] for _, two in judged])
    assert (no_claims["cause"], theirs_of_none["score"]) == ("no_claims", 0)  # we do not guess
    assert len({test["score"] for test in theirs}) >= 5
    for score, test in judged:
        assert score["passed"] is (test["success"] and not score["fallback"])
    assert (no_claims["passed"], theirs_of_none["success"]) == (None, False)
    failing = [score for score in ours if not score["passed"]]
    assert f"{len(failing)} of 20 tests fail" in said
    assert code == 1


# What the real `promptfoo eval -o FILE.json` writes is read.


async def test_the_contexts_and_reference_are_those_that_the_real_program_scored(
    promptfoo, faulty, behave, tmp_path: Path
) -> None:
    """A template within a variable is filled, a transform has made what stands in no variable."""
    message = {"role": "assistant", "content": "One. [Attributed]\nverdict: yes"}
    body = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": {}}
    faulty.script(CHAT, *[behave.reply(body)] * 10)
    grader = {"id": "openai:chat:m", "config": {"apiBaseUrl": f"{faulty.url}/v1"}}
    faithful, recalled = {"type": "context-faithfulness"}, {"type": "context-recall"}
    answered = {"context": "c.", "expected_answer": "unasked"}
    tests = [
        {"vars": {"context": "of {{query}}"}, "assert": [faithful]},
        {"vars": {}, "assert": [{**faithful, "contextTransform": "['made of', output]"}]},
        {"vars": answered, "assert": [{**recalled, "value": "for {{query}}"}]},
        {"vars": answered, "assert": [{**recalled, "value": "y"}]},
        {"vars": {"context": ["a.", "b."]}, "assert": [{"type": "contains", "value": "three"}]},
    ]
    shared = {"vars": {"query": "q?"}, "options": {"provider": grader}}
    config = {"prompts": ["{{query}}"], "providers": ["echo"], "defaultTest": shared}
    done = await promptfoo({**config, "tests": tests}, {}, OPENAI_API_KEY="none")
    assert [test.get("error") for test in done.tests[:4]] == [None] * 4
    loaded = load(tmp_path / "out.json")
    assert "read as promptfoo results" in loaded.source.notes
    found = loaded.samples
    contexts = [[context.text for context in sample.contexts or ()] for sample in found]
    assert contexts == [["of q?"], ["made of", "q?"], ["c."], ["c."], ["a."], ["b."]]
    assert [sample.reference for sample in found[:4]] == [None, None, "for q?", "y"]
    assert {sample.response for sample in found} == {"q?"}
    assert [sample.tags["promptfoo_passed"] for sample in found] == [True] * 4 + [False] * 2
    assert str(found[5].tags["promptfoo_error"]).startswith("Expected output")
