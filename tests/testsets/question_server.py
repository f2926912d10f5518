"""A judge on a socket of loopback that writes and checks questions; it speaks OpenAI's protocol.

It needs no state: a query has the first words of the sentences that answer it, so texts answer it
if they have these words, and a claim is supported if a text has it.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from aiohttp import web

KEY = 6
"""Words of a sentence in a query about it."""
ASKED, AND = "What about ", " and also "
UNKNOWN = "How heavy is a spare part of "


TOPICS = ("battery", "camera", "display", "coil", "guarantee", "charger")
PARTS = ("Length", "Weight", "Colour", "Price", "Origin", "Maker", "Age", "Noise")


def write_documents(folder: Path, *, topics: int = 6, parts: int = 8) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for place, topic in enumerate(TOPICS[:topics]):
        sections = [
            f"## {part}\n\n{part} {n}{place} of the {topic} is noted in list {n}{place}. "
            f"Its {part} was measured by team {place}{n} near the {topic} works.\n"
            for n, part in enumerate(PARTS[:parts])
        ]
        text = f"# About the {topic}\n\n" + "\n".join(sections)
        (folder / f"{topic}.md").write_text(text, encoding="utf-8")
    return folder


def words_of(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def sentences_of(text: str) -> list[str]:
    lines = (line.strip(" *|#-") for line in text.splitlines() if " > " not in line)  # no headings
    found = [each for line in lines for each in re.split(r"(?<=[.!?]) +", line)]
    return [each for each in found if len(each.split()) >= 4]


def key_of(sentence: str) -> str:
    return " ".join(words_of(sentence).split()[:KEY])


@dataclass(frozen=True)
class Asked:
    """One request: its number from 0, its prompt, and what that asks."""

    number: int
    prompt: str

    def fence(self, name: str) -> str | None:
        found = re.search(rf"<{name}-([0-9a-f]+)>\n(.*)\n</{name}-\1>", self.prompt, re.DOTALL)
        return found[2] if found else None

    def texts(self, name: str) -> list[str]:
        return re.split(r"(?:^|\n\n)\[\d+\] ", self.fence(name) or "")[1:]

    @property
    def kind(self) -> str:
        kinds = {"passages": "write", "statements": "grade", "claims": "verify", "contexts": "find"}
        for name, kind in kinds.items():
            if self.fence(name) is not None:
                return kind
        return "abstain"

    @property
    def count(self) -> int:
        return int(re.findall(r"Number of questions: (\d+)", self.prompt)[0])

    @property
    def type(self) -> str:
        line = next(x for x in self.prompt.splitlines() if x.startswith(("Each ", "Answering ")))
        marks = ("by one passage", "compares", "that comes closest")
        named = zip(("single", "compare", "unanswerable"), marks, strict=True)
        return next((name for name, mark in named if mark in line), "multi")

    def answer(self) -> dict[str, object]:
        """Return the right reply."""
        query = self.fence("query") or ""
        if self.kind == "write":
            before = len((self.fence("queries") or "").splitlines())
            return {"questions": [self.draft(before + n) for n in range(self.count)]}
        if self.kind == "abstain":
            says_nothing = "do not state" in (self.fence("response") or "")
            return {"label": "ABSTAINS" if says_nothing else "ANSWERS"}
        contexts = self.texts("contexts")
        if self.kind == "grade":
            keys = query.removeprefix(ASKED).removesuffix("?").split(AND)
            found = [any(key in words_of(text) for key in keys) for text in contexts]
            return {"grades": [{"number": n, "relevant": each} for n, each in enumerate(found, 1)]}
        if self.kind == "verify":
            claims = re.findall(r"^(\d+)\. (.*)$", self.fence("claims") or "", re.MULTILINE)
            known = words_of(" ".join(contexts))
            verdicts = []
            for number, claim in claims:
                said = all(words_of(each) in known for each in re.split(r"(?<=[.!?]) ", claim))
                label = "SUPPORTED" if said else "NOT_ENOUGH_INFO"
                verdict = {"claim": int(number), "reason": "so", "evidence": [], "label": label}
                verdicts.append(verdict)
            return {"verdicts": verdicts}
        return found_answer(query, contexts)

    def draft(self, number: int) -> dict[str, object]:
        """Return one question about the sentences at a place of the passages."""
        passages = self.texts("passages")
        if self.type == "single":
            passages = passages[:1]
        chosen = [(every := sentences_of(each))[number % len(every)] for each in passages]
        quotes = [{"passage": n, "quote": each} for n, each in enumerate(chosen, 1)]
        if self.type == "unanswerable":
            return {
                "query": f"{UNKNOWN}{key_of(chosen[0])} number {number}?",
                "reference": "The documents do not state its weight.",
                "claims": [],
                "quotes": quotes[:1],
            }
        return {
            "query": f"{ASKED}{AND.join(map(key_of, chosen))}?",
            "reference": " ".join(chosen),
            "claims": chosen,
            "quotes": quotes,
        }


def found_answer(query: str, contexts: Sequence[str]) -> dict[str, object]:
    known = [words_of(each) for each in contexts]
    keys = query.removeprefix(ASKED).removesuffix("?").split(AND)
    found = bool(keys) and all(any(key in text for text in known) for key in keys)
    if UNKNOWN in query or not found:
        return {"found": False, "answer": "", "evidence": []}
    place = next(n for n, text in enumerate(known, 1) if keys[0] in text)
    sentences = sentences_of(contexts[place - 1])
    quote = next((each for each in sentences if keys[0] in words_of(each)), contexts[place - 1])
    evidence = [{"context": place, "quote": quote}]
    return {"found": True, "answer": quote, "evidence": evidence}


Fault = Callable[[Asked], "dict[str, object] | str | int | None"]


@dataclass
class QuestionServer:
    """Serves the judge in a thread of its own.

    Attributes:
        fault: returns another reply to a request: JSON, text, or an HTTP status; None for the
            right one.
        delay: seconds before each reply.
        finished: the requests that were answered.
    """

    fault: Fault = lambda _asked: None
    delay: float = 0.0
    asked: list[Asked] = field(default_factory=list)
    finished: list[Asked] = field(default_factory=list)
    port: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def kinds(self) -> Counter[str]:
        return Counter(each.kind for each in self.asked)

    def start(self) -> None:
        Thread(target=self._loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)

    def stop(self) -> None:
        if self._runner:
            asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        while self._loop.is_running():
            pass
        self._loop.close()

    async def _open(self) -> None:
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.01)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        prompt = "\n".join(message["content"] for message in body["messages"])
        asked = Asked(len(self.asked), prompt)
        self.asked.append(asked)
        await asyncio.sleep(self.delay)
        reply = self.fault(asked)
        if isinstance(reply, int):
            return web.Response(status=reply)
        content = reply if isinstance(reply, str) else json.dumps(reply or asked.answer())
        self.finished.append(asked)
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return web.json_response({"choices": [choice], "usage": usage})
