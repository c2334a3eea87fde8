"""Messages between a referee and a candidate process: one JSON document each. Nothing is unpickled."""

from __future__ import annotations

import json
from multiprocessing.connection import Connection
from typing import Any

LONGEST = 64 << 20  # bytes of a message; samples of a timing are the longest


class Lost(Exception):
    """The other process is gone, or does not answer in time. `silent` says that it still lives."""

    def __init__(self, reason: str, silent: bool = False) -> None:
        super().__init__(reason)
        self.silent = silent


def send(connection: Connection, document: dict[str, Any]) -> None:
    try:
        connection.send_bytes(json.dumps(document).encode())
    except (OSError, ValueError) as error:
        raise Lost(f"the process is gone: {error}") from None


def receive(connection: Connection, seconds: float | None) -> dict[str, Any]:
    """The next message. Raises Lost when none comes in time, or what comes is not a JSON object."""
    try:
        if not connection.poll(seconds):
            raise Lost(f"no answer within {seconds:g} s", silent=True)
        document = json.loads(connection.recv_bytes(LONGEST))
    except (EOFError, OSError) as error:
        raise Lost(f"the process ended: {error or 'it closed its end'}") from None
    except ValueError:
        raise Lost("the answer is not JSON") from None
    if not isinstance(document, dict):
        raise Lost("the answer is not a JSON object")
    return document
