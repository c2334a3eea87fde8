"""The page of a run under way, served on loopback: the page asks again, and gets what changed."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from autocomp.errors import AutocompError, RunFolderError
from autocomp.report.page.document import Profiles, run_document
from autocomp.report.page.html import packed, render
from autocomp.report.runs.run import RunView
from autocomp.search.log.folder import RunFolder
from autocomp.search.log.snapshot import restore

LOOPBACK = "127.0.0.1"


class LiveRun:
    """The source of the server's answers. The log is read again only when it has grown."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._request = restore(folder)
        self._profiles = Profiles(folder, self._request)
        self._lock = threading.Lock()
        self._version = ""
        self._document: dict[str, Any] = {}

    @property
    def version(self) -> str:
        """Changes with the log."""
        events = self.folder.events
        return f'"{events.stat().st_size if events.exists() else 0}"'

    def document(self) -> tuple[str, dict[str, Any]]:
        """The version and document of the run as it is now."""
        with self._lock:
            version = self.version
            if version != self._version:
                self._document = run_document(self.folder, self._request)
                self._version = version
            return version, self._document

    def profile(self, number: int) -> dict[str, Any]:
        """The profile of a candidate with its timeline, made on demand. Raises RunFolderError if it has none."""
        view = RunView.of(self.folder.events)
        if number not in view.candidates:
            raise RunFolderError(f"the run has no candidate {number}")
        with self._lock:
            return self._profiles.of(view.candidates[number])


def serve(folder: RunFolder, port: int = 0) -> ThreadingHTTPServer:
    """A server of the run's page on loopback, bound but not yet serving; port 0 takes a free one.

    Raises RunFolderError if the port is taken.
    """
    live = LiveRun(folder)
    handler = type("Handler", (_Handler,), {"live": live})
    try:
        return ThreadingHTTPServer((LOOPBACK, port), handler)
    except OSError as error:
        raise RunFolderError(
            f"cannot serve on {LOOPBACK}:{port}: {error.strerror}", hint="choose another --port"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    live: LiveRun
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        # A page of another site that resolved its own name to loopback would send that name.
        if self.headers.get("Host", "").rpartition(":")[0] not in (LOOPBACK, "localhost"):
            self._send(403, "text/plain", b"this page is served on loopback only")
            return
        try:
            self._answer()
        except AutocompError as error:
            self._send(404, "application/json", json.dumps({"error": str(error)}).encode())

    def _answer(self) -> None:
        wanted = re.fullmatch(r"/profile/(\d{1,9})", self.path)
        if self.path == "/":
            document = self.live.document()[1]
            self._send(200, "text/html; charset=utf-8", render(document, live=True).encode())
        elif self.path == "/run":
            self._send_run()
        elif wanted:
            self._send(200, "application/gzip", packed(self.live.profile(int(wanted[1]))))
        else:
            self._send(404, "text/plain", b"there is nothing here; the page is at /")

    def _send_run(self) -> None:
        if self.headers.get("If-None-Match") == self.live.version:
            self._send(204, "text/plain", b"")
            return
        version, document = self.live.document()
        self._send(200, "application/gzip", packed(document), {"ETag": version})

    def _send(self, status: int, kind: str, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Requests of the page are not worth a line each."""
