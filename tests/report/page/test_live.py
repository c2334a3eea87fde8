"""The page of a search that is under way, from a real server on loopback."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from http.server import ThreadingHTTPServer
from typing import Any

import pytest
from opened import ready
from playwright.sync_api import Page, expect

from autocomp.errors import RunFolderError
from autocomp.report.page import serve
from autocomp.search import RunFolder


@pytest.fixture
def under_way(run_copy: RunFolder) -> tuple[RunFolder, str]:
    """A run as it was after its first evaluations, and what followed."""
    lines = run_copy.events.read_text().splitlines(keepends=True)
    first_candidate = next(number for number, line in enumerate(lines) if '"candidate/0"' in line)
    run_copy.events.write_text("".join(lines[: first_candidate + 1]))
    return run_copy, "".join(lines[first_candidate + 1 :])


@pytest.fixture
def server(under_way: tuple[RunFolder, str]) -> Iterator[ThreadingHTTPServer]:
    with serve(under_way[0]) as served:
        thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield served
        served.shutdown()
        thread.join()


def ask(server: ThreadingHTTPServer, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def unpacked(body: bytes) -> Any:
    return json.loads(gzip.decompress(body))


def test_the_run_is_sent_again_only_when_its_log_has_grown(
    server: ThreadingHTTPServer, under_way: tuple[RunFolder, str]
) -> None:
    folder, rest = under_way
    response, body = ask(server, "/run")
    version = response.headers["ETag"]
    assert unpacked(body)["run"]["state"] == "interrupted"
    assert ask(server, "/run", **{"If-None-Match": version})[0].status == 204
    with folder.events.open("a") as log:
        log.write(rest)
    response, body = ask(server, "/run", **{"If-None-Match": version})
    assert response.headers["ETag"] != version
    assert unpacked(body)["run"]["state"] == "finished"


def test_a_profile_is_made_when_it_is_asked_for(server: ThreadingHTTPServer) -> None:
    found = unpacked(ask(server, "/profile/0")[1])
    assert sum(found["timeline"]["start"]) < found["timeline"]["cycles"] == found["profile"]["cycles"]
    response, body = ask(server, "/profile/999")
    assert response.status == 404
    assert "no candidate 999" in json.loads(body)["error"]


def test_only_requests_for_loopback_are_answered(server: ThreadingHTTPServer) -> None:
    assert ask(server, "/", Host="example.org:80")[0].status == 403
    assert ask(server, "/etc/passwd")[0].status == 404


def test_a_port_that_is_taken_is_an_error_with_a_hint(server: ThreadingHTTPServer, run_copy: RunFolder) -> None:
    with pytest.raises(RunFolderError, match="cannot serve on") as caught:
        serve(run_copy, server.server_port)
    assert "--port" in (caught.value.hint or "")


@pytest.mark.browser
def test_the_page_follows_the_search(page: Page, server: ThreadingHTTPServer, under_way: tuple[RunFolder, str]) -> None:
    folder, rest = under_way
    ready(page, f"http://127.0.0.1:{server.server_port}/")
    expect(page.locator("#count")).to_have_text("1 candidates")
    page.locator("#tab-timeline").click()
    expect(page.locator("canvas.timeline")).to_be_visible()
    with folder.events.open("a") as log:
        log.write(rest)
    expect(page.locator("#count")).not_to_have_text("1 candidates")
    expect(page.locator("#state")).to_contain_text("budget of evaluations spent")
