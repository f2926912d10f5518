"""Whether budgets hold when workers are killed: many short runs with random limits and kills.

    python benchmarks/budget.py [--runs 200] [--seed 1] [processes single]

Each run judges 40 rows with `--max-calls` or `--max-cost` (both are random), two workers, and a
server on this machine, which counts calls and dollars itself: also those of replies that never
arrive. Replies have random lengths, up to --max-tokens; some calls return 503, and some time out.
One or two workers are killed with SIGKILL at random moments. `single` is one process with eight
concurrent calls, without kills. The exit code is 1 if a limit is exceeded.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import signal
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from multiprocessing import active_children
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

from aiohttp import web

ROWS, MAX_TOKENS, TIMEOUT = 40, 400, 1.0
PROMPT, REPLY = 1e-5, 4e-5
"""Dollars per token."""
PRICED = f"""
from ragstone.judges import factory
from ragstone.judges.llm.model import Price
from ragstone.metrics import register
from ragstone.metrics.claims import Faithfulness

factory.price_of = lambda name, url: Price(({PROMPT}, {PROMPT}, {REPLY}, {REPLY}))

@register("priced")
class Priced(Faithfulness):
    '''A metric whose module sets the price, also in workers.'''
"""


@dataclass
class Server:
    """A judge that counts what it is asked and what it charges."""

    pick: random.Random
    calls: int = 0
    dollars: float = 0.0
    port: int = 0
    ready: Event = field(default_factory=Event)

    def start(self) -> None:
        """Serve in a thread until the process ends."""
        Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self.ready.wait()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.port = runner.addresses[0][1]
        self.ready.set()
        await asyncio.Event().wait()

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.calls += 1
        chance = self.pick.random()
        if chance < 0.05:
            return web.Response(status=503, text="busy")
        prompt = "\n".join(message["content"] for message in body["messages"])
        limit = body.get("max_tokens") or body["max_completion_tokens"]
        used = limit if self.pick.random() < 0.1 else self.pick.randint(20, limit)
        usage = {"prompt_tokens": len(prompt) // 3, "completion_tokens": used}
        self.dollars += usage["prompt_tokens"] * PROMPT + used * REPLY
        await asyncio.sleep(2 * TIMEOUT if chance > 0.99 else self.pick.uniform(0.01, 0.15))
        claims = re.search(r"<claims-([0-9a-f]+)>\n(.*)\n</claims-\1>", prompt, re.DOTALL)
        answer: dict[str, Any] = {"claims": ["The battery lasts nine hours."]}
        if claims:
            said = {"reason": "so", "evidence": [], "label": "SUPPORTED"}
            answer = {"verdicts": [{"claim": 1, **said}]}
        message = {"content": json.dumps(answer)}
        choices = [{"message": message, "finish_reason": "stop"}]
        return web.json_response({"choices": choices, "usage": usage})


def kill(server: Server, ended: Event, pick: random.Random) -> None:
    """Kill one or two workers while calls are made."""
    for _ in range(pick.choice((1, 1, 2))):
        before = server.calls
        while server.calls <= before + pick.randint(0, 20):
            if ended.wait(0.01):
                return
        if found := active_children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pick.choice(found).pid or 0, signal.SIGKILL)


def run(engine: str, server: Server, pick: random.Random) -> tuple[str, float, float, str | None]:
    """Make one run; return its limit, what was spent of it, its size, and why it stopped."""
    import ragstone

    rows = [
        {"id": f"r{n}", "query": "How long?", "response": f"Phone {n} lasts nine hours.",
         "contexts": ["The battery lasts nine hours. " * pick.randint(1, 20)]}
        for n in range(ROWS)
    ]  # fmt: skip
    limit = pick.choice(("max_calls", "max_cost"))
    most = pick.randint(5, 70) if limit == "max_calls" else round(pick.uniform(0.05, 1.0), 3)
    options: dict[str, Any] = {limit: most, "concurrency": 8, "retries": 2, "timeout": TIMEOUT}
    if engine != "single":
        options["workers"] = 2
    server.calls, server.dollars, ended = 0, 0.0, Event()
    killing = Thread(target=kill, args=(server, ended, pick))
    if engine != "single":
        killing.start()
    found = ragstone.evaluate(
        rows, metrics="priced", judge="openai:m", base_url=f"http://127.0.0.1:{server.port}/v1",
        config={"max_tokens": MAX_TOKENS}, cache=False, max_failure_rate=1, **options,
    )  # fmt: skip
    ended.set()
    if engine != "single":
        killing.join()
    spent = server.calls if limit == "max_calls" else server.dollars
    return limit, spent, most, found.stopped


def main() -> int:
    """Make the runs, and print what was spent and lost."""
    options = argparse.ArgumentParser()
    options.add_argument("engines", nargs="*", default=["processes", "single"])
    options.add_argument("--runs", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--seconds", type=float, default=3600, help="start no run after these")
    given = options.parse_args()
    os.environ.setdefault("OPENAI_API_KEY", "none")
    pick, began = random.Random(given.seed), time.monotonic()
    server = Server(pick)
    server.start()
    exceeded = 0
    lost: dict[tuple[str, str], list[float]] = defaultdict(list)
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("priced.py").write_text(PRICED)
        from ragstone.metrics import load_plugin

        load_plugin(str(Path("priced.py").resolve()))
        for number in range(given.runs):
            engine = given.engines[number % len(given.engines)]
            limit, spent, most, stopped = run(engine, server, pick)
            over = spent > most + 1e-9
            exceeded += over
            if stopped:
                lost[engine, limit].append((most - spent) / most)
            print(
                f"{number} {engine} {limit}={most} spent {spent:.4f}"
                f"{' EXCEEDED' if over else ''} {stopped or 'all rows'}",
                flush=True,
            )
            if time.monotonic() - began > given.seconds:
                break
        os.chdir("/")
    print(f"exceeded {exceeded} of {number + 1}")
    for (engine, limit), shares in sorted(lost.items()):
        share = f"median {statistics.median(shares):.1%}, most {max(shares):.1%}"
        print(f"{engine:10} {limit:10} {len(shares):4} runs stopped; unspent: {share}")
    return int(exceeded > 0)


if __name__ == "__main__":
    sys.exit(main())
