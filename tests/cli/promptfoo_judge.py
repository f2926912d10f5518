"""Configurations of promptfoo, and a judge on loopback that answers in both ways of asking."""

import json
import re
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

ORDER = "Final verdict for each statement in order:"
Run = Callable[..., SimpleNamespace]
ALL_BACKED, HALF, MILDLY = "backed one, backed four", "backed one, wrong two", "wrong three"
"""Responses of one or two claims: all backed, half, and all by the milder judge alone."""


def configuration(url: str, *responses: str, **assertion: object) -> dict[str, object]:
    grader = {"id": "openai:chat:m", "config": {"apiBaseUrl": f"{url}/v1"}}
    given = {"query": "What is it?", "context": "It is high. It is old."}
    return {
        "prompts": ["{{query}}"],
        "providers": ["echo"],
        "defaultTest": {
            "assert": [{"type": "context-faithfulness", **assertion}],
            "options": {"provider": grader},
        },
        "tests": [{"vars": given, "providerOutput": response} for response in responses],
    }


def content(request: dict) -> str:
    """Answer as a judge would; `backed one` and `wrong two` are claims.

    In plain text where that is asked for, else in JSON, where the judge is milder: `wrong three`
    is supported.
    """
    system, user = (message["content"] for message in request["messages"])
    schema = request["response_format"]["json_schema"]["schema"]
    found = re.findall(r"\b(?:backed|wrong) \w+", user)
    if schema["title"] == "text":
        if ORDER not in system:
            return "\n".join(found)
        return f"{ORDER} " + " ".join("No." if "wrong" in claim else "Yes." for claim in found)
    if "label" not in json.dumps(schema):
        return json.dumps({"claims": found})
    labels = ["CONTRADICTED" if "wrong two" in claim else "SUPPORTED" for claim in found]
    said = [{"claim": n, "reason": "so", "label": each} for n, each in enumerate(labels, 1)]
    return json.dumps({"verdicts": said})


class Served:
    """A judge on loopback, in threads of its own; `asked` holds the bodies, in order."""

    def __init__(self) -> None:
        self.asked: list[dict] = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                said = self.rfile.read(int(self.headers["Content-Length"]))
                request = json.loads(said)
                served.asked.append(request)
                message = {"role": "assistant", "content": content(request)}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                body = json.dumps({"choices": [choice], "usage": {}}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def models(self) -> set[str]:
        return {request["model"] for request in self.asked}
