"""Batch APIs on a socket of loopback, as OpenAI's and Anthropic's, which misbehave as told."""

import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aiohttp import web

KEY = "sk-of-a-test"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

EXPIRED, CANCELED, MISSING = "expired", "canceled", "missing"
"""What may become of a request instead of a reply, beside a status."""


@dataclass
class Served:
    """A batch as the server has it.

    `lines` are the requests: id and body. `ended` is how it ended.
    """

    number: int
    lines: list[tuple[str, dict]]
    at: float
    metadata: dict[str, str] | None = None
    ended: str | None = None
    error: dict[str, str] | None = None
    looks: int = 0
    results: list[dict] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"batch_{self.number}"


@dataclass
class BatchServer:
    """Answers the requests of a batch after some looks.

    Attributes:
        answer: what a request is about (its body) -> the text of the reply.
        looks: how often a batch must be looked at before it ends; None for never.
        looks_of: the same by number of the batch.
        fate: batch number from 1 and line number from 0 -> what becomes of the request, if not a
            reply: a status, or one of the words above.
        end: batch number -> how it ends, if not as completed.
        fault: how many batches exist, the method and the path -> what is done instead of serving.
        after: the same, once a request was served.
        shuffle: whether results are out of order, twice, and among lines that are none.
    """

    answer: Callable[[dict], str]
    url: str = ""
    looks: int | None = 1
    looks_of: dict[int, int | None] = field(default_factory=dict)
    fate: Callable[[int, int], int | str | None] = lambda *_: None
    end: Callable[[int], str | tuple[str, str] | None] = lambda *_: None
    fault: Callable[[int, str, str], web.StreamResponse | str | None] = lambda *_: None
    after: Callable[[int, str, str], web.StreamResponse | str | None] = lambda *_: None
    shuffle: bool = False
    batches: list[Served] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def submitted(self) -> Counter[str]:
        """How often each request was submitted, by its body."""
        return Counter(
            json.dumps(body, sort_keys=True) for batch in self.batches for _, body in batch.lines
        )

    @property
    def sizes(self) -> list[int]:
        return [len(batch.lines) for batch in self.batches]

    async def handle(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix("/v1/")
        made = len(self.batches)
        self.calls.append((request.method, path))
        self.headers = {name.lower(): value for name, value in request.headers.items()}
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        if KEY not in (given, self.headers.get("x-api-key")):
            return web.json_response({"error": {"message": "wrong key"}}, status=401)
        for stage in (self.fault, self.after):
            if fault := stage(made, request.method, path):
                if isinstance(fault, str):
                    assert request.transport
                    request.transport.close()
                    return web.Response()
                return fault
            if stage is self.fault:
                response = await self._serve(request, path)
        return response

    async def _serve(self, request: web.Request, path: str) -> web.Response:
        anthropic = path.startswith("messages/")
        parts = path.removeprefix("messages/").split("/")
        match [request.method, *parts]:
            case ["POST", "files"]:
                form = await request.post()
                assert form["purpose"] == "batch"
                name = f"file-{len(self.files)}"
                self.files[name] = form["file"].file.read().decode()
                return web.json_response({"id": name})
            case ["POST", "batches"]:
                body = await request.json()
                if anthropic:
                    lines = [(line["custom_id"], line["params"]) for line in body["requests"]]
                else:
                    assert body["endpoint"] == "/v1/chat/completions"
                    read = map(json.loads, self.files[body["input_file_id"]].splitlines())
                    lines = [(line["custom_id"], line["body"]) for line in read]
                assert len({name for name, _ in lines}) == len(lines)
                metadata = body.get("metadata")
                served = Served(len(self.batches) + 1, lines, time.time(), metadata)
                self.batches.append(served)
                return self._described(served, anthropic)
            case ["GET", "batches"]:
                newest = self.batches[::-1]
                after = request.query.get("after_id" if anthropic else "after")
                start = next((n + 1 for n, each in enumerate(newest) if each.id == after), 0)
                page = newest[start : start + 2]  # small, so that there are several
                more = len(newest) > start + 2
                data = [self._info(each, anthropic) for each in page]
                return web.json_response({"data": data, "has_more": more})
            case ["GET", "batches", name]:
                if not (served := self._of(name)):
                    return web.json_response({"error": {"message": "no such batch"}}, status=404)
                served.looks += 1
                needed = self.looks_of.get(served.number, self.looks)
                if needed is not None and served.looks >= needed and not served.ended:
                    self._finish(served, anthropic)
                return self._described(served, anthropic)
            case ["GET", "batches", name, "results"]:
                return self._lines(self._of(name).results)
            case ["GET", "files", name, "content"]:
                kind, _, batch = name.partition("-")
                wanted = [
                    line
                    for line in self._of(batch).results
                    if kind
                    == (
                        "output" if (line["response"] or {}).get("status_code") == 200 else "errors"
                    )
                ]
                return self._lines(wanted)
        return web.json_response({"error": {"message": "nothing here"}}, status=404)

    def _of(self, name: str) -> Served | None:
        return next((each for each in self.batches if each.id == name), None)

    def _lines(self, results: list[dict]) -> web.Response:
        lines = [json.dumps(result) for result in results]
        if self.shuffle:
            lines = ["", "{not JSON", '{"custom_id": 3}', *lines[::-1], *lines]
        return web.Response(text="\n".join(lines) + "\n")

    def _finish(self, served: Served, anthropic: bool) -> None:
        ended = self.end(served.number) or "completed"
        if isinstance(ended, tuple):
            served.ended, served.error = (
                "failed",
                dict(zip(("code", "message"), ended, strict=True)),
            )
            return
        served.ended = ended
        for line, (name, body) in enumerate(served.lines):
            fate = self.fate(served.number, line)
            if fate == MISSING:
                continue
            make = self._anthropic_line if anthropic else self._openai_line
            served.results.append({"custom_id": name, **make(body, fate)})

    def _openai_line(self, body: dict, fate: int | str | None) -> dict:
        if isinstance(fate, str):
            code = {EXPIRED: "batch_expired", CANCELED: "batch_cancelled"}[fate]
            return {"response": None, "error": {"code": code, "message": "not in time"}}
        if fate:
            code = "insufficient_quota" if fate == 429 else None
            message = f"status {fate}: use max_completion_tokens"
            reply = {"error": {"message": message, "code": code}}
            return {"response": {"status_code": fate, "body": reply}, "error": None}
        message = {"message": {"content": self.answer(body)}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        reply = {"choices": [message], "usage": usage}
        return {"response": {"status_code": 200, "body": reply}, "error": None}

    def _anthropic_line(self, body: dict, fate: int | str | None) -> dict:
        if isinstance(fate, str):
            return {"result": {"type": fate}}
        if fate:
            kind = {400: "invalid_request_error", 404: "not_found_error"}.get(fate, "api_error")
            error = {"type": "error", "error": {"type": kind, "message": f"status {fate}"}}
            return {"result": {"type": "errored", "error": error}}
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": self.answer(body)}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
        return {"result": {"type": "succeeded", "message": message}}

    def _described(self, served: Served, anthropic: bool) -> web.Response:
        return web.json_response(self._info(served, anthropic))

    def _info(self, served: Served, anthropic: bool) -> dict:
        total = len(served.lines)
        if anthropic:
            done = total if served.ended else 0
            word = {None: "in_progress", "failed": "in_progress"}.get(served.ended, "ended")
            return {
                "id": served.id,
                "processing_status": word,
                "created_at": _time(served.at),
                "expires_at": _time(served.at + 86_400),
                "cancel_initiated_at": _time(served.at) if served.ended == "cancelled" else None,
                "request_counts": {"processing": total - done, "succeeded": done, "errored": 0},
            }
        ok = sum((line["response"] or {}).get("status_code") == 200 for line in served.results)
        return {
            "id": served.id,
            "status": served.ended or "in_progress",
            "created_at": int(served.at),
            "expires_at": int(served.at) + 86_400,
            "metadata": served.metadata,
            "output_file_id": f"output-{served.id}" if ok else None,
            "error_file_id": f"errors-{served.id}" if len(served.results) > ok else None,
            "errors": {"data": [served.error]} if served.error else None,
            "request_counts": {"total": total, "completed": ok, "failed": len(served.results) - ok},
        }


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
