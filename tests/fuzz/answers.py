"""Readers of what endpoints answer."""

from __future__ import annotations

import json
from functools import cache

from autocomp.agents.llm.edits import EditError, apply_edits, parse_edits
from autocomp.agents.llm.endpoints.forms import responses
from autocomp.agents.llm.endpoints.forms.answer import MalformedAnswerError
from autocomp.agents.llm.endpoints.forms.chat import parse_completion, parse_stream
from autocomp.agents.llm.parsing import parse_avenues, parse_plans, parse_selection
from autocomp.targets import menu_file
from autocomp.targets.menu import Menu
from autocomp.targets.protocol import Language
from autocomp.targets.registry import load_target

COMPLETION = {
    "choices": [{"message": {"content": "hi", "refusal": None}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7},
}
RESPONSE = {
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "g"},
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "c", "name": "check", "arguments": "{}"},
    ],
    "usage": {"input_tokens": 11, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 3}},
}
STREAM = b"".join(
    b"data: " + json.dumps(piece).encode() + b"\n\n"
    for piece in ({"choices": [{"delta": {"content": "he"}}]}, {"choices": [], "usage": {"prompt_tokens": 3}})
)
KERNEL = "void solution(int8_t A[4]) {\n  for (int i = 0; i < 4; i++) A[i] = 1;\n}\n"
ANSWERS = (
    '{"avenues": ["a"], "plans": [{"option": "tile", "plan": "Cut.", "gain": [1, 2], "parameters": {"loops": {"i": 4}}}'
    "]}",
    '1. Tile the loops.\n2. **Plan 2** option: hoist\n```json\n{"base": 3, "reference": "#4", "reason": "fast"}\n```',
    f"<think>hm</think>Here.\n```c\n{KERNEL}```\n",
    "<<<<<<< SEARCH\n  for (int i = 0; i < 4; i++) A[i] = 1;\n=======\n  A[0] = 1;\n>>>>>>> REPLACE\n",
)


def read_completion(data: bytes) -> None:
    try:
        parse_completion(data.decode("utf-8", "replace"))
    except MalformedAnswerError:
        return


def read_response(data: bytes) -> None:
    for streamed in (False, True):
        try:
            responses.parse(data.decode("utf-8", "replace"), streamed)
        except MalformedAnswerError:
            continue


def read_stream(data: bytes) -> None:
    try:
        parse_stream(data.decode("utf-8", "replace"))
    except MalformedAnswerError:
        return


@cache
def a_menu() -> Menu:
    return menu_file.load(["general"])


@cache
def language() -> Language:
    return load_target("simulator:tiny").language


def read_answer(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    parse_plans(text, a_menu(), "m")
    parse_avenues(text)
    parse_selection(text, {3, 4})
    language().locate(text)
    try:
        apply_edits(KERNEL, parse_edits(text))
    except EditError:
        return
