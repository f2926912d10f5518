"""Make docs/images/*.png from the demo: `python scripts/make_screenshots.py [FOLDER]`.

Two runs of the demo, one with a worse retriever, are evaluated, stored and looked at in Chromium,
as a reader of the docs would. What differs from one run to the next (ids, times, ports) is set, so
that the pictures differ only where the pages do.
"""

import asyncio
import contextlib
import html
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.async_api import Browser, Page, ViewportSize, async_playwright

from ragstone.demo.questions import DATASET
from ragstone.demo.server import make_service, running
from ragstone.evaluation.runner import evaluate_async
from ragstone.reports.html.page import write_html
from ragstone.results.run import Run
from ragstone.store import Store, tag
from ragstone.types.gate import Gate
from ragstone.types.reply import Exchange
from ragstone.types.row import Row

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WIDE: ViewportSize = {"width": 1280, "height": 760}
TALL: ViewportSize = {"width": 1280, "height": 1240}
PHONE: ViewportSize = {"width": 380, "height": 800}
MOST = 200_000
"""Bytes of one picture."""
GATES = tuple(Gate(metric=name, op=">=", threshold=0.85) for name in ("hit@5", "faithfulness"))
TERMINAL = """<body style="margin: 0; background: #1b2128; color: #e4e8ec">
<pre style="margin: 20px; font: 14.5px/1.42 monospace"><b>$ ragstone demo</b>
{}</pre>"""
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
PLACE = 0
"""The sample that is looked at: one of its claims has the wrong number."""


@dataclass(frozen=True)
class Shown:
    """Where the pages are: the report's file, the viewer, and the ids of the runs."""

    report: str
    viewer: str
    runs: tuple[str, str]


async def evaluated(retriever: str, number: int) -> Run:
    """Return a run of the demo with every id, time and address set."""
    async with running(make_service(retriever)) as url:
        run = await evaluate_async(DATASET, metrics="all", k=5, target=url)
    started_at = START + timedelta(hours=number)
    target = f"http://localhost:800{number}"
    manifest = run.manifest.model_copy(
        update={
            "run_id": f"{started_at:%Y%m%d-%H%M%S}-demo{number}",
            "started_at": started_at,
            "target": target,
            "plan": run.manifest.plan.model_copy(update={"gates": GATES}),
            "identity": {**run.manifest.identity, "target": target},
        }
    )
    return Run(manifest, run.metrics, [_steady(row) for row in run.rows], extras=run.extras)


def _steady(row: Row) -> Row:
    calls = tuple(replace(call, latency_ms=4.0 + row.index % 5) for call in row.calls)
    return replace(row, calls=calls, exchanges=tuple(_at_once(each) for each in row.exchanges))


def _at_once(exchange: Exchange) -> Exchange:
    return replace(exchange, latency_ms=1.0, started_at=START.timestamp())


async def store(place: Path, runs: list[tuple[str, Run]]) -> None:
    """Keep finished runs under their tags."""
    with Store.open(place) as kept:
        for name, run in runs:
            run_id = run.manifest.run_id
            begun = kept.begin_writing(run.manifest, run.metrics, fingerprint=run_id)
            async with begun as writer:
                for row in run.rows:
                    await writer.put(row)
            kept.finish(run_id, extras=run.extras, summary=run.to_dict())
            tag(kept, run_id, name)


async def shoot(browser: Browser, shown: Shown, folder: Path) -> None:
    """Make every picture; each is what is seen before scrolling."""
    a, b = shown.runs
    page = await browser.new_page(viewport=WIDE)
    await page.goto(shown.report)
    await page.locator("#rows-table tbody tr").first.wait_for()
    await _save(page, folder / "report.png")
    await page.goto(f"{shown.report}#sample={PLACE}")
    await page.locator("#text-response .claim:not(.good)").first.hover()
    await page.locator("mark.evidence.lit").first.wait_for()
    await _save(page, folder / "sample.png")
    await page.goto(shown.viewer)
    await _save(page, folder / "runs.png")
    await page.set_viewport_size(TALL)
    await page.goto(f"{shown.viewer}/compare?a={a}&b={b}")
    await _save(page, folder / "compare.png")
    phone = await browser.new_page(viewport=PHONE)
    await phone.goto(f"{shown.report}#sample={PLACE}")
    await phone.locator("#sample-title").wait_for()
    await _save(phone, folder / "phone.png")


async def shoot_terminal(browser: Browser, folder: Path) -> None:
    """Make the picture of the demo in a terminal of 80 columns."""
    command = [sys.executable, "-m", "ragstone", "demo", "--no-export", "--no-store"]
    ran = subprocess.run(  # noqa: S603, ASYNC221 - nothing else runs
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}
    )
    page = await browser.new_page(viewport={"width": 780, "height": 640})
    await page.set_content(TERMINAL.format(html.escape(ran.stdout)))
    await _save(page, folder / "terminal.png")


async def shoot_labels(browser: Browser, place: Path, run_id: str, folder: Path) -> None:
    """Make the picture of the page of `ragstone labels start`."""
    labels = ("labels", "start", run_id, "--annotator", "ana", "--no-open")
    with serving(*labels, "--store", str(place)) as url:
        page = await browser.new_page(viewport=WIDE)
        await page.goto(url)
        await page.locator("#claim-view").wait_for()
        for done in range(1, 10):
            await page.keyboard.press("y")
            await page.get_by_text(f"{done} of").wait_for()
        await _save(page, folder / "label.png")


@contextlib.contextmanager
def serving(*words: str) -> Iterator[str]:
    """Run a command that serves pages during the block; gives the URL that it prints."""
    command = [sys.executable, "-m", "ragstone", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        assert process.stdout
        try:
            yield process.stdout.readline().split(" at ")[1].split()[0]
        finally:
            process.terminate()


async def _save(page: Page, file: Path) -> None:
    picture = await page.screenshot(path=file, animations="disabled", caret="hide")
    if len(picture) > MOST:
        raise SystemExit(f"{file.name} has {len(picture):,} bytes; {MOST:,} at most")
    print(f"{file.name}: {len(picture):,} bytes")


async def make(folder: Path) -> None:
    """Evaluate, store, write and look."""
    good, worse = await evaluated("good", 1), await evaluated("worse", 2)
    chromium = shutil.which("chromium") or "/usr/bin/chromium"
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        report, place = Path(work) / "report.html", Path("ragstone.db")
        write_html(good, report)
        await store(place, [("good", good), ("worse", worse)])
        with serving("view", "--store", str(place), "--port", "0", "--no-browser") as url:
            shown = Shown(
                report.as_uri(), url.rstrip("/"), (good.manifest.run_id, worse.manifest.run_id)
            )
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(
                    executable_path=chromium, args=["--no-sandbox"]
                )
                await shoot(browser, shown, folder)
                await shoot_terminal(browser, folder)
                await shoot_labels(browser, place, shown.runs[0], folder)
                await browser.close()


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else FOLDER))
