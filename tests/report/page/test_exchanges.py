"""Prompts, answers and conversations with tools in the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from autocomp.report.page import write_page
from autocomp.report.page.exchanges import exchanges_document
from autocomp.search import RunFolder
from autocomp.targets.planning import Usage

HOSTILE = "</script><img src=x onerror=alert(1)>"
CALL = {"id": "c", "type": "function", "function": {"name": "check", "arguments": '{"kernel": 0}'}}
CHAT = {
    "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": HOSTILE, "tool_call_id": "c"},
    ]
}
RESPONSES = {
    "input": [
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "g"},
        {"type": "function_call", "call_id": "c", "name": "check", "arguments": '{"kernel": 0}'},
        {"type": "function_call_output", "call_id": "c", "output": HOSTILE},
    ]
}


def keep(folder: RunFolder, call: str, request: dict[str, Any], text: str = "Done.") -> None:
    digest = f"{abs(hash((call, json.dumps(request)))):064x}"[-64:]
    folder.exchanges.keep(call, "openai:m", digest, request, "answered", text, Usage())


@pytest.mark.parametrize(
    ("request_body", "said"),
    [
        (CHAT, [["user", "Go."], ["assistant", 'check({"kernel": 0})'], ["tool", HOSTILE]]),
        (RESPONSES, [["user", "Go."], ["thoughts", "Hm."], ["assistant", 'check({"kernel": 0})'], ["tool", HOSTILE]]),
    ],
)
def test_a_conversation_is_told_once_with_its_tool_calls(
    tmp_path: Path, request_body: dict[str, Any], said: list[list[str]]
) -> None:
    folder = RunFolder(tmp_path)
    ((name, messages),) = request_body.items()
    keep(folder, "turn/1", {name: messages[:1]}, "check(...)")
    keep(folder, "turn/2", request_body)
    document = exchanges_document(folder)
    assert document["conversation"] == [*said, ["assistant", "Done."]]
    assert document["exchanges"] == {}


@pytest.mark.parametrize("sent", [None, 5, [5], [{"content": [5]}], [{"tool_calls": [{"function": 5}, 5]}]])
def test_a_strangers_request_of_any_form_is_told(tmp_path: Path, sent: object) -> None:
    folder = RunFolder(tmp_path)
    keep(folder, "plan/1/0", {"messages": sent})
    assert len(exchanges_document(folder)["exchanges"]["plan/1/0"]) == 1


@pytest.mark.browser
def test_what_is_said_is_text_within_the_width_of_the_page(page: Page, run_copy: RunFolder, tmp_path: Path) -> None:
    keep(run_copy, "turn/1", CHAT)
    keep(run_copy, "select/1", {"messages": [{"role": "user", "content": HOSTILE + "wide" * 200}]})
    write_page(run_copy, tmp_path / "report.html")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((tmp_path / "report.html").as_uri() + "#0/exchanges")
    page.get_by_text("select/1: openai:m, answered; 0 tokens of prompt, 0 of answer").click()
    page.get_by_text("the conversation of the run: 4 messages").click()
    assert page.locator("#panel pre", has_text=HOSTILE).count() == 2
    assert page.locator("#panel img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") == 390
