"""What judging faithfulness costs: wall time, client CPU, calls and tokens, beside a bare loop.

    python benchmarks/judge.py MOCK.py [--n 1000] [--ragas PYTHON]

MOCK.py is a server of OpenAI's protocol (see faults.py). Each contender runs in a process of its
own, 64 requests in flight, 50 ms a reply, and times itself without its start-up; ragstone has its
reply cache and its store on, in an empty folder. The bare loop sends the same number of requests
of the same size over aiohttp and looks at nothing. `--ragas` names the Python of a virtual
environment with ragas 0.4.3. The exit code is 1 if ragstone's wall time is over 1.5 times the bare
loop's, its CPU over 1 ms a call, or its score of any sample is wrong.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import cast

from judged_samples import judged_samples
from mock_server import serving, stats

IN_FLIGHT = 64
FLOOR, CPU_MS, TOKENS = 1.5, 1.0, 900


def bare(url: str, n: int) -> dict[str, float]:
    """Send two requests a sample and read the replies; nothing else."""
    import aiohttp

    schema = {
        "type": "object",
        "properties": {"claims": {"type": "array", "items": {"type": "string"}}},
    }
    made = judged_samples(n)
    bodies = [
        {"model": "mock", "messages": [{"role": "user", "content": text}], "response_format": {
            "type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}
        for sample in made
        for text in (
            f"<response>{sample['response']}</response>",
            f"<contexts>{sample['contexts']}</contexts>\n<claims>{sample['response']}</claims>",
        )
    ]  # fmt: skip

    async def run() -> dict[str, float]:
        slots = asyncio.Semaphore(IN_FLIGHT)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def one(body: object) -> None:
                async with slots, session.post(f"{url}/v1/chat/completions", json=body) as reply:
                    json.loads((await reply.json())["choices"][0]["message"]["content"])

            wall, cpu = time.perf_counter(), time.process_time()
            await asyncio.gather(*map(one, bodies))
            return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}

    return asyncio.run(run())


def ours(url: str, n: int) -> dict[str, float]:
    """Evaluate with everything on; the imports, which are start-up, are done by a first sample."""
    import ragstone
    from ragstone.judges.llm.model import price_of

    made = judged_samples(n)
    offline = [{"query": "q", "response": "It is so.", "contexts": ["It is so."]}]
    ragstone.evaluate(offline, metrics="faithfulness", store="first.db")
    price_of("openai:gpt-4o-mini")
    wall, cpu = time.perf_counter(), time.process_time()
    run = ragstone.evaluate(
        made, metrics="faithfulness", judge="openai:mock", base_url=f"{url}/v1",
        concurrency=IN_FLIGHT, store="runs.db",
    )  # fmt: skip
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    values = [(row.scores["faithfulness"].value, row.sample.tags["right"]) for row in run.rows]
    wrong = sum(v is None or abs(v - float(str(right))) > 1e-9 for v, right in values)
    return {"wall": wall, "cpu": cpu, "wrong": wrong}


def peer(url: str, n: int) -> dict[str, float]:
    """Evaluate with ragas."""
    from langchain_openai import ChatOpenAI
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import Faithfulness

    llm = ChatOpenAI(model="mock", base_url=f"{url}/v1", api_key="none")
    rows = [
        {"user_input": s["query"], "response": s["response"], "retrieved_contexts": s["contexts"]}
        for s in judged_samples(n)
    ]
    dataset = EvaluationDataset.from_list(rows)
    wall, cpu = time.perf_counter(), time.process_time()
    evaluate(
        dataset, metrics=[Faithfulness()], llm=LangchainLLMWrapper(llm), show_progress=False,
        run_config=RunConfig(max_workers=IN_FLIGHT),
    )  # fmt: skip
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


CONTENDERS = {"bare": bare, "ragstone": ours, "ragas": peer}


def measured(name: str, mock: str, n: int, python: str) -> dict[str, float]:
    """Run one contender in a process of its own against a server of its own."""
    with serving(mock, "--latency-ms", "50") as url, tempfile.TemporaryDirectory() as folder:
        command = [python, str(Path(__file__).resolve()), mock, "--as", name, "--url", url]
        done = subprocess.run(
            [*command, "--n", str(n)], cwd=folder, capture_output=True, text=True, check=False,
            env={"RAGAS_DO_NOT_TRACK": "true", "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        if done.returncode:
            sys.exit(f"{name}: {done.stderr[-2000:]}")
        counted = stats(url)
    told = json.loads(done.stdout.splitlines()[-1])
    calls, tokens = cast("int", counted["requests"]), cast("int", counted["prompt_tokens"])
    return told | {"calls": calls / n, "tokens": tokens / n, "ms": told["cpu"] * 1000 / calls}


def main() -> int:
    """Print the table, or run as one contender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mock")
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--ragas")
    parser.add_argument("--as", dest="name", choices=CONTENDERS)
    parser.add_argument("--url")
    given = parser.parse_args()
    if given.name:
        print(json.dumps(CONTENDERS[given.name](given.url, given.n)))
        return 0
    names = {"bare": sys.executable, "ragstone": sys.executable}
    names |= {"ragas": given.ragas} if given.ragas else {}
    mock = str(Path(given.mock).resolve())
    found = {name: measured(name, mock, given.n, python) for name, python in names.items()}
    floor = found["bare"]["wall"]
    print(f"n={given.n}, {IN_FLIGHT} in flight, 50 ms")
    print(
        f"{'':10}{'wall s':>8}{'x floor':>9}{'CPU ms/call':>13}{'calls':>7}{'tokens':>8} a sample"
    )
    for name, it in found.items():
        print(f"{name:10}{it['wall']:8.2f}{it['wall'] / floor:9.2f}{it['ms']:13.2f}"
              f"{it['calls']:7.2f}{it['tokens']:8.0f}")  # fmt: skip
    own = found["ragstone"]
    kept = own["wall"] <= FLOOR * floor and own["ms"] <= CPU_MS and own["tokens"] <= TOKENS
    print(f"wrong scores: {own['wrong']:.0f}; goals {'kept' if kept else 'MISSED'}")
    return 0 if kept and not own["wrong"] else 1


if __name__ == "__main__":
    sys.exit(main())
