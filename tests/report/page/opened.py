"""Opening the page, and letting a run go on."""

from __future__ import annotations

import json

from playwright.sync_api import Page

from autocomp.search import RunFolder


def ready(page: Page, address: str) -> Page:
    page.goto(address)
    page.wait_for_selector("body[data-ready=yes]")
    return page


def append_events(folder: RunFolder, events: list[dict[str, object]]) -> None:
    with folder.events.open("a") as log:
        log.writelines(json.dumps(event) + "\n" for event in events)
