"""Reading what models write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autocomp.agents.llm.moves import Move
from autocomp.agents.llm.parsing import parse_plans
from autocomp.targets.fences import fenced_blocks
from autocomp.targets.menu import Menu
from autocomp.targets.menu_file import load
from autocomp.targets.simulator.dialect import Dialect

from .conftest import KERNEL, a_menu, an_accelerator

LANGUAGE = Dialect(an_accelerator())
MENU = load(["general"])
prose = st.text(st.characters(blacklist_characters="`~{}[]<>", blacklist_categories=["Cs", "Cc"]), max_size=60)
plan_text = st.text(st.characters(whitelist_categories=["Lu", "Ll"], max_codepoint=0x24F), min_size=1, max_size=60)
option_id = st.sampled_from([option.id for option in MENU.options])


def plans(text: str, menu: Menu = MENU) -> list[tuple[str, str]]:
    return [(plan.option, plan.text) for plan in parse_plans(text, menu, "m")]


@given(
    st.lists(st.tuples(option_id, plan_text), min_size=1, max_size=5),
    prose,
    prose,
    st.sampled_from(["json", "", "JSON"]),
)
def test_plans_in_json_are_read_whatever_stands_around(
    wanted: list[tuple[str, str]], before: str, after: str, tag: str
) -> None:
    document = json.dumps({"plans": [{"option": option, "plan": text} for option, text in wanted]})
    assert plans(f"{before}\n```{tag}\n{document}\n```\n{after}") == wanted
    assert plans(document) == wanted


@given(
    st.lists(st.tuples(option_id, plan_text), min_size=1, max_size=5),
    st.sampled_from(["{}. ", "{}) ", "**Plan {}:** ", "## Plan {}\n"]),
)
def test_a_numbered_list_of_plans_is_read(wanted: list[tuple[str, str]], form: str) -> None:
    text = "\n".join(form.format(n) + f"Option: {option}\n{text}" for n, (option, text) in enumerate(wanted, 1))
    found = parse_plans(f"Here you are:\n{text}", MENU, "m")
    assert [plan.option for plan in found] == [option for option, _ in wanted]
    assert all(text in plan.text for plan, (_, text) in zip(found, wanted, strict=True))


@given(st.text())
def test_no_text_breaks_the_readers(text: str) -> None:
    parse_plans(text, MENU, "m")
    LANGUAGE.locate(text)


@pytest.mark.parametrize(
    "text",
    [
        '[{"option": "tile", "plan": "p"}]',
        '{"option": "tile", "plan": "p"}',
        '{"plans": [{"option": "Tile", "text": "p"},]}',
        'Sure! {"plans": [{"option": "tile", "description": "p"}]} Good luck.',
        '<think>{"plans": [{"option": "fuse", "plan": "no"}]}</think>{"plans": [{"option": "tile", "plan": "p"}]}',
        '{"plans": {"option": "tile loops so that a block fits in local memory", "plan": "p"}}',
    ],
)
def test_forms_that_models_like_are_read(text: str) -> None:
    assert plans(text) == [("tile", "p")]


def test_a_transformation_with_parameters_is_kept() -> None:
    text = '{"plans": [{"option": "schedule", "plan": "p", "transformation": "schedule", "parameters": {"early": 4}}]}'
    (plan,) = parse_plans(text, MENU, "m")
    assert (plan.transformation, plan.parameters, plan.author) == ("schedule", {"early": 4}, "m")


def test_a_transformation_that_the_menu_lacks_is_dropped() -> None:
    (plan,) = parse_plans('{"option": "tile", "plan": "p", "transformation": "magic"}', MENU, "m")
    assert plan.transformation is None


def test_an_option_that_the_menu_lacks_makes_a_free_plan() -> None:
    assert plans('{"option": "magic", "plan": "do wonders"}') == [("", "do wonders")]


def test_numbers_inside_a_plan_do_not_start_another() -> None:
    text = "1. Fuse both loops:\n   1. first i\n   3. then j\n2. Unroll it: unroll by 4"
    assert [option for option, _ in plans(text)] == ["fuse", "unroll"]


def test_prose_that_names_an_option_is_one_plan_and_other_prose_is_none() -> None:
    assert plans("I would use double-buffering: double_buffer the loads of B.")[0][0] == "double_buffer"
    assert plans("I cannot help with that.") == []
    assert plans("I cannot help with that.", a_menu()) == []


def test_the_block_with_the_entry_function_is_the_kernel() -> None:
    answer = f"First a sketch:\n```c\nint helper(int x) {{ return x; }}\n```\nNow all:\n```c\n{KERNEL}```\nRun `make`."
    assert LANGUAGE.locate(answer) == KERNEL


def test_the_last_of_several_kernels_counts() -> None:
    better = KERNEL.replace("k += 4", "k += 8")
    assert LANGUAGE.locate(f"```c\n{KERNEL}```\nBetter:\n```cpp\n{better}```\nUsage:\n```\nrun it\n```") == better


@pytest.mark.parametrize(
    "answer",
    [
        f"```\n{KERNEL}```",
        f"~~~c\n{KERNEL}~~~",
        f"````c\n{KERNEL}````",
        f"```c\r\n{KERNEL}```\r\n".replace("\n", "\r\n").replace("\r\r", "\r"),
        f"```c\n{KERNEL}",
        KERNEL,
        f"Here is the kernel:\n\n{KERNEL}\nIt is faster.",
        f"<think>```c\nvoid solution() {{ }}\n```</think>\n```c\n{KERNEL}```",
    ],
    ids=["untagged", "tildes", "four", "crlf", "open", "bare", "bare-in-prose", "thoughts"],
)
def test_a_kernel_is_found_in_any_dress(answer: str) -> None:
    assert LANGUAGE.locate(answer) == KERNEL


def test_helpers_in_front_of_bare_code_belong_to_it() -> None:
    helper = "int twice(int x) { // }\n  return 2 * x;\n}\n"
    assert LANGUAGE.locate(f"So:\n{helper}{KERNEL}Done.") == helper + KERNEL


@pytest.mark.parametrize(
    "answer", ["", "no code", "```c\nload(0, 1);\n```", "call solution(A, B) { }", '```json\n{"a": 1}\n```']
)
def test_an_answer_without_a_function_has_no_kernel(answer: str) -> None:
    assert LANGUAGE.locate(answer) is None


@given(
    st.lists(
        st.text(st.characters(blacklist_characters="`~", blacklist_categories=["Cs", "Cc", "Zl", "Zp"])), max_size=4
    )
)
def test_fenced_blocks_come_back_in_order(contents: list[str]) -> None:
    assert fenced_blocks("\n".join(f"text\n```c\n{content}\n```" for content in contents)) == contents


# --- answers of models that have lost the thread ------------------------------------------------------------------

MOVES = (Move("tile", "tile", {"loops": {"k": 4}}, "cut k"),)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["plans", "option", "plan", "move", "gain", "parameters"]), inner)
    ),
    max_leaves=20,
)


@given(json_values)
def test_whatever_a_model_puts_under_the_keys_the_plans_can_be_written_down(value: object) -> None:
    found = parse_plans(json.dumps({"plans": [value, {"option": "tile", "parameters": {"x": value}}]}), MENU, "m")
    for plan in found:
        json.dumps(plan.parameters, allow_nan=False)
        (plan.text + plan.option).encode()


@pytest.mark.parametrize(
    "gain", ["1" * 5000, "1" * 400, "[1e999, 2]", "[NaN, 2]", '"twice"', "[0, 1]"], ids=lambda gain: gain[:10]
)
def test_a_gain_that_is_no_number_is_none(gain: str) -> None:
    for plan in parse_plans(f'{{"option": "tile", "plan": "do it", "gain": {gain}}}', MENU, "m"):
        assert plan.gain is None


def test_a_gain_may_be_written_as_a_factor() -> None:
    (plan,) = parse_plans('{"option": "tile", "plan": "do it", "gain": ["1.2x", "1.5 x"]}', MENU, "m")
    assert plan.gain == (1.2, 1.5)


@pytest.mark.parametrize("number", ["0", "2", "-1", "1" * 5000, "²", "own"])
def test_a_move_that_was_not_offered_is_no_move(number: str) -> None:
    (plan,) = parse_plans(json.dumps({"option": "tile", "change": "c", "move": number}), MENU, "m", MOVES)
    assert plan.transformation is None


@pytest.mark.parametrize(
    "piece",
    ["[", "{", '{"a":', '["', "void f(\n", "void f(int a)\n", "/*", "```\n", "option: ", ", ", "1. ", "#", "\n"],
)
def test_an_answer_that_repeats_itself_to_the_end_is_read_all_the_same(piece: str) -> None:
    """A parser that reads its input over and over does not end here."""
    answer = "void solution() {\n" + piece * 20_000
    parse_plans(answer, MENU, "m")
    LANGUAGE.locate(answer)


def test_a_plan_behind_many_indices_is_found() -> None:
    reasoning = "A[i][j] = B[0][1]; " * 2000
    assert plans(reasoning + '{"plans": [{"option": "tile", "plan": "do it"}]}') == [("tile", "do it")]
