import asyncio
import re
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import cast

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from tests.cases import add_run, each_case
from tests.reports.ranked import ranked_run
from tests.reports.viewer.conftest import METRICS, keep, manifest, row

from ragstone.errors import UsageError
from ragstone.evaluation.labelling import LabelSession
from ragstone.reports import viewer as pages
from ragstone.reports.viewer import RequestGuard, _LabelViews  # pyright: ignore[reportPrivateUsage]
from ragstone.store import Store, StoreError, save_ranking
from ragstone.types.config import Plan, Source
from ragstone.types.gate import Gate
from ragstone.types.score import Score

PAGES = ("/", "/runs/run-a", "/runs/run-c", "/compare?a=run-a&b=run-b", "/healthz")


def test_the_first_page_lists_the_runs_newest_first(served) -> None:
    text = served.get("/").text
    assert text.index("run-c") < text.index("run-b") < text.index("run-a")
    assert "5 of 12 rows" in text
    assert text.count("no gates") == 2
    assert "stopped" in text
    assert "6 of 12 answers make a claim that the contexts do not support" in text
    assert text.count('<svg class="spark"') == 2, "the first run has no other before it"
    checked = re.findall(r'name="(.)" value="(.*?)" required checked', text)
    assert checked == [("b", "run-b"), ("a", "run-a")]
    few = served.get("/?limit=1").text
    assert "run-c" in few
    assert "run-b" not in few
    assert 'href="/?limit=5"' in few


def test_a_failed_gate_is_not_green_and_its_data_set_is_compared(view, tmp_path: Path) -> None:
    with Store.open(tmp_path / "runs.db") as store:
        for minutes, (name, gate, data) in enumerate(
            [("bad", 0.9, "a.csv"), ("good", 0.4, "a.csv"), ("other", 0.4, "b.csv")]
        ):
            plan = Plan(gates=(Gate(metric="faithfulness", op=">=", threshold=gate),))
            source = Source(name=data, rows=12)
            about = manifest(name, minutes=minutes).model_copy(
                update={"plan": plan, "source": source}
            )
            keep(store, about, [row(i, supported=i > 5) for i in range(12)])
    with view(tmp_path / "runs.db") as served:
        text = served.get("/").text
    states = re.findall(r'<p class="state"><span class="badge (\w+)"><[^>]*>.</span> (\w+)', text)
    assert states == [("good", "passed"), ("good", "passed"), ("bad", "failed")]
    checked = re.findall(r'name="(.)" value="(.*?)" required checked', text)
    assert checked == [("b", "good"), ("a", "bad")]


def test_a_runs_page_tells_what_it_came_to(served) -> None:
    answer = served.get("/runs/run-a")
    assert answer.status == 200
    assert '<script type="application/gzip" id="rows"' in answer.text
    assert '<span title="0.5000">0.50</span>' in answer.text
    assert "nothing is relevant" in answer.text
    assert '<td class="number">6</td>' in answer.text
    last = served.get("/runs/last")
    assert (last.status, last.headers["location"]) == (307, "/runs/run-c")
    text = served.get("/runs/run-c").text
    assert "the run stopped early; 5 of 12 rows evaluated" in text
    assert "Resume it with <code>ragstone resume run-c</code>" in text
    assert '<span title="1.0000">1.00</span>' in text


def test_a_long_run_has_its_worst_rows(
    view, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "SHOWN_ROWS", 5)
    with Store.open(tmp_path / "runs.db") as store:
        for name, ended in (("done", True), ("not-done", False)):
            keep(store, manifest(name), [row(i, supported=i > 5) for i in range(12)], ended=ended)
    with view(tmp_path / "runs.db") as served:
        for name in ("done", "not-done"):
            text = served.get(f"/runs/{name}").text
            assert "Below are the 5 of 12 rows that failed or scored worst on a metric" in text
            assert '<span title="0.5000">0.50</span>' in text


def test_two_runs_are_compared_what_changed_first(served) -> None:
    text = served.get("/compare?a=run-a&b=run-b").text
    assert text.index("What changed from A") < text.index("Differences")
    assert "no regression" not in text
    for words in (
        *("The judge or its settings changed", "6 now supported", "B - A +0.5000, interval "),
        *('<span title="0.5000">+0.50</span>', "Better: faithfulness 0.500 → 1.000"),
        'href="/runs/run-b?row=0#sample=0"',
    ):
        assert words in text


def test_runs_are_compared_if_a_metric_has_no_scores_in_one(view, tmp_path: Path) -> None:
    rows = [row(i, supported=i > 5) for i in range(12)]
    none = {"hit@5": Score.failed("timeout", "too slow")}
    with Store.open(tmp_path / "runs.db") as store:
        keep(store, manifest("a"), rows)
        keep(store, manifest("b"), [replace(r, scores={**r.scores, **none}) for r in rows])
    with view(tmp_path / "runs.db") as served:
        for path in ("/compare?a=a&b=b", "/compare?a=b&b=a", "/runs/b"):
            answer = served.get(path)
            assert answer.status == 200
            assert ">None<" not in answer.text


@each_case(
    ("path", "status", "words"),
    [
        ("/nowhere", 404, "Page not found"),
        ("/runs/nobody", 404, "there is no run named"),
        ("/runs/run-", 404, "3 run ids begin with"),
        ("/assets/nothing.js", 404, "no file nothing.js"),
        ("/assets/..%2Ftemplates.py", 404, "Page not found"),
        ("/assets/%2e%2e", 404, "no file"),
        ("/compare", 400, "Select two runs"),
        ("/compare?a=run-a&b=run-a", 400, "select two different runs"),
        ("/runs/%00%ff%27--", 404, "there is no run named"),
    ],
)
def test_what_is_not_there_is_told_in_words(served, path: str, status: int, words: str) -> None:
    answer = served.get(path)
    assert answer.status == status
    assert words in answer.text


def test_hostile_texts_are_only_texts(served) -> None:
    strange = "/runs/%3Cscript%3Ealert(1)"
    for path in ("/", "/runs/run-c", "/compare?a=run-c&b=run-a", strange):
        text = served.get(path).text
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "\x1b" not in text


def test_the_store_is_as_it_was(served) -> None:
    before = served.place.read_bytes()
    for path in PAGES:
        assert served.get(path).status == 200
        head = served.get(path, method="HEAD")
        assert (head.status, head.text) == (200, "")
    assert served.place.read_bytes() == before
    assert not list(served.place.parent.glob("*.lock"))


# The pages of a ranking's run.


def test_a_ranking_is_listed_shown_paged_and_compared(view, tmp_path: Path) -> None:
    run = ranked_run(1500)
    with Store.open(tmp_path / "runs.db") as store:
        save_ranking(store, run)
        other = run.manifest.model_copy(update={"run_id": "r2"})
        save_ranking(store, replace(run, manifest=other))
    with view(tmp_path / "runs.db") as served:
        first = served.get("/").text
        assert "1,500 rows" in first
        assert first.count("no gates") == 2
        page = served.get("/runs/r1").text
        assert "it raised" in page
        assert "Not shown" not in page
        assert "1,000 of 1,500 queries" in page
        assert "no difference shown" in served.get("/compare?a=r1&b=r2").text


async def test_a_run_in_progress_has_a_page_of_what_is_stored(view, tmp_path) -> None:
    with Store.open(tmp_path / "going.db") as store:
        add_run(store, manifest("run-a"), METRICS, fingerprint="")
        with view(tmp_path / "going.db") as viewed:

            async def page(path: str = "/runs/run-a") -> str:
                return (await asyncio.to_thread(viewed.get, path)).text

            async with store.open_writer("run-a") as writer:
                assert "This run is in progress" in await page()
                await writer.put(row(0, supported=True))
                for _ in range(100):
                    if "1.0000" in (text := await page()):
                        break
                    await asyncio.sleep(0.05)
                assert "1.0000" in text
                assert "This run is in progress" in text
                assert "ragstone resume" not in text
                assert "running" in await page("/")
            store.finish("run-a", extras={}, summary=store.load("run-a").to_dict())
            text = await page()
            assert "in progress" not in text
            assert "stopped early" not in text


def test_a_slow_comparison_holds_up_no_page(served, view, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = Event(), Event()

    def slow(*_: object, **__: object) -> object:
        begun.set()
        assert may_end.wait(30)
        raise UsageError("no more comparisons")

    monkeypatch.setattr(pages, "compare", slow)
    told = []
    with view(served.place) as viewed:
        ask = [
            Thread(target=lambda: told.append(viewed.get("/compare?a=run-a&b=run-b").status))
            for _ in range(50)
        ]
        for each in ask:
            each.start()
        assert begun.wait(30)
        assert viewed.get("/runs/run-a").status == 200
        assert viewed.get("/").status == 200
        may_end.set()
        for each in ask:
            each.join()
    assert told == [400] * 50


def test_a_failing_store_is_not_a_missing_page(served, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise StoreError("runs.db: the disk is full")

    monkeypatch.setattr(pages, "find_run", fail)
    answer = served.get("/runs/run-a")
    assert (answer.status, "The store cannot be read" in answer.text) == (503, True)


GUARDED = ("/", "/runs/run-a", "/healthz", "/assets/page.css", "/nowhere.json")


@each_case("path", GUARDED)
def test_a_host_that_is_not_ours_is_refused(served, path: str) -> None:
    for host in (
        *("evil.example", "evil.example:{port}", "192.168.1.7:{port}", "127.0.0.1:1", "", "::1"),
        *("localhost", "localhost:{port}.evil.example"),
    ):
        answer = served.get(path, {"Host": host.format(port=served.port)})
        assert answer.status == 421
        assert "run-a" not in answer.text
    for host in ("127.0.0.1:{port}", "LOCALHOST:{port}", "[::1]:{port}"):
        assert served.get("/", {"Host": host.format(port=served.port)}).status == 200


@each_case("path", [*GUARDED, "/compare?a=run-a&b=run-b"])
def test_every_answer_tells_browsers_to_keep_it_so(served, path: str) -> None:
    answer = served.get(path)
    headers = answer.headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control")]
    assert not {"set-cookie", "server"} & headers.keys()
    if "<html" in answer.text:  # no page needs what the policy forbids
        for banned in (" style=", "<style", "<script>", " onclick"):
            assert banned not in answer.text


@each_case("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_changed(served, method: str) -> None:
    answer = served.get("/runs/run-a", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


@each_case("site", ["cross-site", "same-site"])
def test_other_sites_get_nothing(served, site: str) -> None:
    asked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}
    for path in GUARDED:
        assert served.get(path, asked).status == 403
    visit = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert served.get("/runs/run-a", visit).status == 200
    assert served.get("/nowhere.json", visit).status == 403
    assert served.get("/runs/run-a", visit | {"Sec-Fetch-Dest": "iframe"}).status == 403
    for ours in ("same-origin", "none"):
        asked = {"Sec-Fetch-Site": ours, "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}
        assert served.get("/healthz", asked).status == 200


async def test_the_port_of_http_need_not_be_said() -> None:
    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse("ours")(scope, receive, send)

    for host, status in (("localhost", 200), ("[::1]", 200), ("evil.example", 421)):
        sent: list[Message] = []

        async def send(message: Message, sent: list[Message] = sent) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "headers": [(b"host", host.encode())],
        }
        await RequestGuard(page, 80)(scope, cast("Receive", None), send)
        assert sent[0]["status"] == status


async def test_deep_json_to_the_label_page_is_a_bad_request() -> None:
    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"[" * 200_000}

    head = (b"x-ragstone-token", b"t")
    request = Request({"type": "http", "method": "POST", "headers": [head]}, receive)
    views = _LabelViews(cast("LabelSession", None), "t")
    with pytest.raises(HTTPException, match="not valid"):
        await views.answer(request)
