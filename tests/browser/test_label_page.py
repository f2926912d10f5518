"""`ragstone labels start`: sixty claims by keyboard, by two people, over a real server."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import product
from pathlib import Path

import pytest

from ragstone.evaluation.runner import evaluate
from ragstone.judges.base import ScriptedJudge
from ragstone.results.run import Run
from ragstone.store import Store
from ragstone.types.claim import Claim, Label, Verdict
from ragstone.types.label import HumanLabel

expect = pytest.importorskip("playwright.async_api").expect
Browse = Callable[..., Awaitable]
pytestmark = pytest.mark.asyncio(loop_scope="session")
DATA = "/labels.json"


@dataclass(frozen=True)
class Labelled:
    """A store with a run, whose claims `ragstone labels start` serves."""

    place: Path
    run_id: str

    @contextmanager
    def serve(
        self, annotator: str = "ana", n: int = 60, *, browser: str | None = None
    ) -> Iterator[str]:
        options = ["--n", str(n), "--annotator", annotator, "--store", str(self.place)]
        options += [] if browser else ["--no-open"]
        command = [sys.executable, "-m", "ragstone", "labels", "start", self.run_id, *options]
        given = os.environ | ({"BROWSER": browser} if browser else {})
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=given) as process:
            assert process.stdout
            try:
                yield process.stdout.readline().split(" at ")[1].split()[0]
            finally:
                process.terminate()

    def labels(self) -> list[HumanLabel]:
        with Store.open(self.place) as store:
            return sorted(store.labels(self.run_id), key=lambda label: label.at)

    def values(self) -> list[bool | None]:
        return [label.value for label in self.labels()]


@pytest.fixture
def labelled(make_run: Callable[..., Run], tmp_path: Path) -> Labelled:
    with Store.open(tmp_path / "runs.db") as store:
        return Labelled(tmp_path / "runs.db", make_run(store=store).manifest.run_id)


async def press(page, key: str, count: int, total: int, *, skipped: int = 0) -> None:
    more = f", {skipped} skipped" if skipped else ""
    await page.keyboard.press(key)
    await expect(page.locator("#progress")).to_have_text(f"{count} of {total} claims{more}")


async def total_of(page) -> int:
    await expect(page.locator("#claim-view")).to_be_visible()
    return int((await page.locator("#progress").inner_text()).split()[2])


async def test_sixty_claims_are_labelled_by_keyboard_and_a_reload_continues(browse, labelled):
    keys = {"y": True, "n": False, "c": None}
    pressed = [*keys] * 26
    with labelled.serve(n=68) as url:
        page = await browse(url)
        total = await total_of(page)
        assert 60 <= total <= 76
        for number in range(total // 2):
            await press(page, pressed[number], number + 1, total)
        before = await page.locator("#claim").inner_text()
        await page.reload()
        await expect(page.locator("#claim")).to_have_text(before)
    with labelled.serve(n=68) as url:  # another server, and another token
        page = await browse(url)
        await expect(page.locator("#progress")).to_have_text(f"{total // 2} of {total} claims")
        for number in range(total // 2, total):
            await press(page, pressed[number], number + 1, total)
        await expect(page.locator("#done")).to_be_visible()
    assert labelled.values() == [keys[key] for key in pressed[:total]]


async def test_a_claim_has_its_question_answer_contexts_and_rule(browse: Browse, labelled) -> None:
    with labelled.serve() as url:
        page = await browse(url)
        total = await total_of(page)
        claim = await page.locator("#claim").inner_text()
        await expect(page.locator("#response mark.lit")).to_have_text(claim)
        await expect(page.locator("#contexts article")).to_have_count(2)
        await expect(page.locator("#query")).to_contain_text("How long does model")
        await expect(page.locator(".rule")).to_contain_text("even if it is true")
        await page.mouse.wheel(0, 6000)
        for shown in (".rule", "#claim"):
            await expect(page.locator(shown)).to_be_in_viewport()
        await page.get_by_role("button", name="Not supported").click()
        await expect(page.locator("#progress")).to_have_text(f"1 of {total} claims")
    assert labelled.values() == [False]


async def test_the_verdict_is_hidden_until_after_the_answer(browse, labelled: Labelled) -> None:
    replies: list[str] = []
    with labelled.serve() as url:
        page = await browse(url)
        total = await total_of(page)
        claim = await page.locator("#claim").inner_text()

        async def keep(response) -> None:
            replies.append(await response.text())

        page.on("response", keep)
        await page.keyboard.press("v")
        await press(page, "y", 1, total)
        await expect(page.locator("#verdict")).to_be_hidden()
        for word in ("SUPPORTED", "CONTRADICTED", "the weights differ", "0.9", "evidence"):
            assert word not in replies[-1], "the page does not have it"
        await page.keyboard.press("v")
        await expect(page.locator("#verdict-claim")).to_have_text(claim)
        await expect(page.locator("#verdict-label .badge")).to_be_visible()
        await expect(page.locator("#verdict-quotes li")).to_have_count(1)
        await press(page, "u", 0, total)
        await press(page, "n", 1, total)
        await press(page, "n", 2, total)
    assert [label.blind for label in labelled.labels()] == [False, True]


async def test_undo_and_skip(browse: Browse, labelled: Labelled) -> None:
    with labelled.serve(n=20) as url:
        page = await browse(url)
        total = await total_of(page)
        first = await page.locator("#claim").inner_text()
        await press(page, "y", 1, total)
        await press(page, "u", 0, total)
        await expect(page.locator("#claim")).to_have_text(first)
        await press(page, "s", 0, total, skipped=1)
        for number in range(1, total):
            await press(page, "y", number, total, skipped=1)
        await expect(page.locator("#claim")).to_have_text(first)
        await press(page, "c", total, total)
        await expect(page.locator("#done")).to_be_visible()
        await press(page, "u", total - 1, total, skipped=1)


async def test_hostile_texts_are_only_shown(browse: Browse, tmp_path: Path) -> None:
    script = "😀 <img src=x onerror=alert(1)><script>alert(2)</script>"
    hostile, shown = f"{script}\x1b[31m\u202e", f"{script}\ufffd[31m\ufffd"
    claim = Claim(text=hostile, span=(2, len(hostile)))
    verdict = Verdict(label=Label.SUPPORTED)
    judge = ScriptedJudge({"extract_claims": (claim,), "verify_claims": (verdict,)})
    row = {"id": hostile, "query": hostile, "response": hostile, "contexts": [hostile]}
    with Store.open(tmp_path / "runs.db") as store:
        run = evaluate([row], metrics=("faithfulness",), judge=judge, store=store)
    with Labelled(tmp_path / "runs.db", run.manifest.run_id).serve("<b>ana</b>") as url:
        page = await browse(url)
        for place in ("#query", "#claim", "#response", "#contexts .text"):
            await expect(page.locator(place)).to_have_text(shown)
        await expect(page.locator("#response mark.lit")).to_have_text(shown[2:])
        await expect(page.locator("#who")).to_contain_text("<b>ana</b>")


async def test_the_browser_gets_the_token_from_a_private_file(chromium, labelled, tmp_path) -> None:
    browser, pipe = tmp_path / "browser", tmp_path / "pipe"
    os.mkfifo(pipe)
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {pipe}\n')
    browser.chmod(0o700)
    with labelled.serve(browser=f"{browser} %s") as url:
        argument = await asyncio.to_thread(pipe.read_text)
        assert url.split("#")[1] not in argument
        file = Path(argument.removeprefix("file://"))
        assert [each.stat().st_mode & 0o777 for each in (file, file.parent)] == [0o600, 0o700]
        context = await chromium.new_context()
        page = await context.new_page()
        await page.goto(argument)
        await expect(page.locator("#claim-view")).to_be_visible()
        assert page.url == url
        await context.close()
    assert not await asyncio.to_thread(file.exists)


def ask(
    url: str, method: str = "POST", path: str = DATA, body: str = '{"do": "show"}', **headers: str
) -> tuple[int, str]:
    """Send a request as the page would, with other headers."""
    address, token = url.split("/#")
    host = address.removeprefix("http://")
    usual = {"Host": host, "Origin": address, "X-Ragstone-Token": token}
    given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
    connection = HTTPConnection("127.0.0.1", int(host.split(":")[1]), timeout=50)
    connection.putrequest(method, path, skip_host=True)
    for name, value in given.items():
        if value:
            connection.putheader(name, value)
    if method == "POST":
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body.encode() if method == "POST" else None)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


async def test_strangers_are_refused(browse: Browse, labelled: Labelled) -> None:
    with labelled.serve() as url:
        status, text = ask(url)
        assert (status, '"query"' in text) == (200, True)
        port = url.split("/#")[0].rpartition(":")[2]
        for headers, expected in (
            ({"X_Ragstone_Token": "wrong"}, 403),
            ({"X_Ragstone_Token": ""}, 403),
            ({"X_Ragstone_Token": "é".encode().decode("latin-1")}, 403),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": f"https://127.0.0.1:{port}"}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": ""}, 403),
            ({"Host": f"evil.example:{port}"}, 421),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
        ):
            status, text = ask(url, **headers)
            assert (status, "model" in text) == (expected, False), headers
        for method, path in (("PUT", DATA), ("POST", "/"), ("GET", DATA), ("OPTIONS", DATA)):
            assert ask(url, method, path)[0] == 405
        assert "model" not in ask(url, "GET", "/")[1], "the page itself has no data"
        answers = ('"yes"', "[1]", "true")
        for body in (
            *("", "[]", "{}", '{"do": "drop"}'),
            *(f'{{"do": "answer", "value": {value}, "item": [999, 0]}}' for value in answers),
            *(f'{{"do": "skip", "item": {bad}}}' for bad in ('["a", 1]', "[1e999, 0]", "7")),
        ):
            assert ask(url, body=body)[0] == 400, body
        page = await browse(url.split("#")[0])
        await expect(page.locator("#trouble")).to_contain_text("Open the whole address")
    assert labelled.values() == []


async def test_axe_finds_nothing_serious(browse: Browse, labelled: Labelled, violations) -> None:
    looks = [*product((1280, 380), ("light", "dark"))]
    with labelled.serve() as url:
        for number, (width, scheme) in enumerate(looks, 1):
            page = await browse(url, width=width, scheme=scheme, examined=True)
            total = await total_of(page)
            assert await violations(page) == []
            await press(page, "y", number, total)
            await page.keyboard.press("v")
            await expect(page.locator("#verdict-label .badge")).to_be_visible()
            assert await violations(page) == []
            assert await page.evaluate("document.documentElement.scrollWidth") <= width
