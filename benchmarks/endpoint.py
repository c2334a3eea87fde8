"""A model's endpoint on loopback whose answers a function gives: for measuring what a search does with answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any


@dataclass(frozen=True)
class Reply:
    """A status, headers and a body; `cut` sends that many bytes of the body and closes the connection."""

    body: str
    status: int = 200
    headers: Mapping[str, str] | None = None
    cut: int | None = None


Body = Mapping[str, Any]


def completion(text: str, *, finish: str = "stop", refusal: str | None = None) -> Reply:
    """A chat completion in the form of the OpenAI protocol."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    return Reply(json.dumps({"choices": [{"message": message, "finish_reason": finish}]}))


def drawn(random: Random, body: Body) -> Reply:
    """An answer by chance, as the schema of a choice allows."""
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    return completion(json.dumps({name: random.choice(item["enum"]) for name, item in properties.items()}))


@contextmanager
def endpoint(answer: Callable[[Body], Reply], models: Sequence[str]) -> Iterator[list[str]]:
    """Specs of `models`, all answered by `answer` as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reply = answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            payload = reply.body.encode()
            self.send_response(reply.status)
            for name, value in (reply.headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload[: reply.cut])
            self.close_connection = True

        def log_message(self, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield [f"openai:{model}@http://127.0.0.1:{server.server_address[1]}/v1" for model in models]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
