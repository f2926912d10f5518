from typing import cast

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from tests.cases import each_case

from ragstone.evaluation.labelling import LabelSession
from ragstone.reports.viewer import RequestGuard, _LabelViews  # pyright: ignore[reportPrivateUsage]

PAGES = ("/", "/runs/run-a", "/healthz", "/assets/page.css", "/nowhere.json")


@each_case("path", PAGES)
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


@each_case("path", [*PAGES, "/compare?a=run-a&b=run-b"])
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
    for path in PAGES:
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
