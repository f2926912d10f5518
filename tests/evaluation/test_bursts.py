"""18.2: a short overload of the judge or the target costs no row at default settings."""

import asyncio
import json
from collections.abc import Callable

import pytest
from aiohttp import web

from ragstone import evaluate_async

pytestmark = pytest.mark.usefixtures("clock")

CHAT, ASK = "/v1/chat/completions", "/api/v1/chat/query"
ROWS, SECONDS, TRIES = 60, 8.0, 6
"""A call is tried at 0, 0.5, 1.5, 3.5 and 7.5 s; jitter halves each wait at most."""
VERDICT = {"claim": 1, "reason": "so it says", "evidence": [], "label": "SUPPORTED"}
BODIES = {
    CHAT: {"choices": [{"message": {"content": json.dumps({"verdicts": [VERDICT]})}}]},
    ASK: {"response": "It is red.", "retrieved_chunks": [{"point_id": 5, "text": "It is red."}]},
}


@pytest.mark.parametrize("path", [CHAT, ASK])
@pytest.mark.parametrize(
    ("status", "wait"), [(503, None), (429, "0"), (503, "Fri, 31 Dec 1999 23:59:59 GMT")]
)
async def test_18_2_a_burst_costs_no_row_and_causes_no_storm(
    faulty, path: str, status: int, wait: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{faulty.url}/v1")
    now: Callable[[], float] = asyncio.get_running_loop().time
    first, refused = list[float](), list[float]()

    async def answer(request: web.Request) -> web.StreamResponse:
        first.append(now())
        if now() - first[0] >= SECONDS:
            return web.json_response(BODIES[path])
        refused.append(now())
        return web.Response(status=status, headers={"Retry-After": wait} if wait else {})

    faulty.script(path, answer)
    saved, options = {}, {"judge": "offline", "target": faulty.url}
    if path == CHAT:
        saved = {"response": "It is red.", "contexts": ["It is red."]}
        options = {"judge": "openai:gpt-4o-mini", "cache": False}
        options["config"] = {"claim_source": "sentences"}
    rows = [{"query": f"What is {row}?", **saved} for row in range(ROWS)]
    run = await evaluate_async(rows, metrics=["faithfulness"], **options)
    assert [score.value for row in run.rows for score in row.scores.values()] == [1.0] * ROWS
    assert len(refused) <= run.manifest.plan.concurrency * TRIES
