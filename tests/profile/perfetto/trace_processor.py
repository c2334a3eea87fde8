"""Perfetto's own trace processor, compiled to WebAssembly, asked from Python by SQL.

It runs as the worker of Perfetto's user interface, in a page of ours: bytes go in, bytes come out. Requests and replies
are protocol buffers (`TraceProcessorRpcStream` in Perfetto's `trace_processor.proto`), of which the few fields that are
needed are written and read here by their numbers.
"""

from __future__ import annotations

import struct
from base64 import b64decode, b64encode
from collections.abc import Iterator
from itertools import repeat
from typing import Any

from playwright.sync_api import Page

Cell = int | float | str | bytes | None

START = """() => {
    const replies = [], waiting = [];
    const hand = () => { while (replies.length && waiting.length) waiting.shift()(replies.shift()); };
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => { replies.push(data); hand(); };
    const worker = new Worker("engine_bundle.js");
    worker.onerror = (event) => console.error(event.message);
    worker.postMessage(port2, [port2]);
    window.request = (text) => port1.postMessage(Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)));
    window.reply = async () => {
        const bytes = await new Promise((resolve) => { waiting.push(resolve); hand(); });
        return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
    };
}"""

MESSAGE = 1  # of TraceProcessorRpcStream
APPEND, FINALIZE, QUERY = 1, 2, 3  # TraceProcessorMethod
SEQUENCE, REQUEST, FATAL, TRACE, ARGUMENTS, APPENDED, RESULT = 1, 2, 5, 101, 103, 201, 203  # of TraceProcessorRpc
SQL = 1  # of QueryArgs
APPEND_ERROR = 2  # of AppendTraceDataResult
COLUMN, ERROR, BATCH = 1, 2, 3  # of QueryResult
TYPES, INTEGERS, REALS, BLOBS, STRINGS, LAST = 1, 2, 3, 4, 5, 6  # of its CellsBatch
NULL, INTEGER, REAL, STRING, BLOB = 1, 2, 3, 4, 5  # its CellType


class TraceProcessor:
    """Holds one trace. `page` is one of the origin that serves the user interface, whose worker this is."""

    def __init__(self, page: Page, trace: bytes) -> None:
        self._page, self._sent = page, 0
        page.evaluate(START)
        for method, arguments in ((APPEND, _field(TRACE, trace)), (FINALIZE, b"")):
            self._send(method, arguments)
            for number, value in _fields(self._reply()):
                if number == APPENDED:
                    assert APPEND_ERROR not in dict(_fields(value)), value

    def rows(self, sql: str) -> list[tuple[Cell, ...]]:
        """The rows of the result of the last statement."""
        self._send(QUERY, _field(ARGUMENTS, _field(SQL, sql.encode())))
        columns, cells, last = 0, list[Cell](), False
        while not last:
            for number, value in _fields(_only(self._reply(), RESULT)):
                assert number != ERROR, f"{value!r} in {sql}"
                columns += number == COLUMN
                if number == BATCH:
                    cells += _cells(value)
                    last = bool(dict(_fields(value)).get(LAST))
        return [tuple(cells[first : first + columns]) for first in range(0, len(cells), columns)]

    def column(self, sql: str) -> list[Cell]:
        return [row[0] for row in self.rows(sql)]

    def _send(self, method: int, arguments: bytes) -> None:
        self._sent += 1
        request = _field(SEQUENCE, self._sent) + _field(REQUEST, method) + arguments
        self._page.evaluate("text => request(text)", b64encode(_field(MESSAGE, request)).decode())

    def _reply(self) -> bytes:
        reply = _only(b64decode(self._page.evaluate("() => reply()")), MESSAGE)
        fatal = dict(_fields(reply)).get(FATAL)
        assert fatal is None, fatal
        return reply


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while data[place] > 127:
        value |= (data[place] & 127) << shift
        place, shift = place + 1, shift + 7
    return value | data[place] << shift, place + 1


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Numbers and values (integers, or bytes) of a message's fields, in order."""
    place = 0
    while place < len(message):
        key, place = _read_varint(message, place)
        if key & 7 == 0:
            value, place = _read_varint(message, place)
            yield key >> 3, value
        else:
            length, place = {1: (8, place), 5: (4, place)}.get(key & 7) or _read_varint(message, place)
            yield key >> 3, message[place : place + length]
            place += length


def _only(message: bytes, number: int) -> bytes:
    (found,) = (value for key, value in _fields(message) if key == number)
    assert isinstance(found, bytes)
    return found


def _cells(batch: bytes) -> Iterator[Cell]:
    """Of each type the values lie together, in the order of their cells."""
    packed = dict(_fields(batch))
    integers = (value - (value >> 63 << 64) for value in _varints(packed.get(INTEGERS, b"")))
    reals = (value for (value,) in struct.iter_unpack("<d", packed.get(REALS, b"")))
    strings = iter(packed.get(STRINGS, b"").decode().split("\0"))
    blobs = (value for number, value in _fields(batch) if number == BLOBS)
    values: dict[int, Iterator[Cell]] = {
        NULL: repeat(None),
        INTEGER: integers,
        REAL: reals,
        STRING: strings,
        BLOB: blobs,
    }
    return (next(values[kind]) for kind in _varints(packed.get(TYPES, b"")))


def _varints(data: bytes) -> Iterator[int]:
    place = 0
    while place < len(data):
        value, place = _read_varint(data, place)
        yield value
