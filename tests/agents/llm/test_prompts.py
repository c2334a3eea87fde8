"""The messages to a model, word for word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autocomp.agents.llm import Asked, Message, render_prompt
from autocomp.agents.llm.endpoints.tokens import estimate_tokens, tokens_by_section
from autocomp.agents.llm.feedback import annotated, feedback, numbered, unnumbered
from autocomp.agents.llm.offers import offers
from autocomp.agents.llm.prompts import Phase
from autocomp.errors import ConfigError
from autocomp.targets.evaluation import LineCost
from autocomp.targets.menu import Applies, MenuOption
from autocomp.targets.planning import Attempt, Context, LineageStep, Plan, Precedent
from autocomp.targets.profile import PathSegment, WhatIf
from autocomp.targets.simulator.profile.limits import Limits
from autocomp.targets.simulator.story import Diagnosis
from autocomp.workload.model import TensorSpec, Tolerance, Workload

from .conftest import A_MOVE, KERNEL, Run, a_workload

PLAN = Plan("tile", "Cut the loop at line 2.", "tile", {"loop": "k", "by": 8})


def document(messages: tuple[Message, ...]) -> str:
    return "\n".join(f"=== {message.role} ===\n{message.content}" for message in messages)


PLANNING = Asked(count=3, moves=(A_MOVE,))
CODING = Asked(plan=PLAN)
REPAIRING = Asked(plan=PLAN, kernel=KERNEL, failure="smoke: C[0][1] is 3, expected 5 (line 6)")
MENDING = Asked(plan=PLAN, answer="an answer with blocks", failure="block 1: these lines occur nowhere")


@pytest.mark.parametrize(
    ("phase", "asked"),
    [
        ("plan", PLANNING),
        ("structured", PLANNING),
        ("choice", PLANNING),
        ("single", PLANNING),
        ("code", CODING),
        ("edit", CODING),
        ("translate", CODING),
        ("repair", REPAIRING),
        ("repair_edit", REPAIRING),
        ("mend", MENDING),
    ],
)
def test_prompt(context: Context, phase: Phase, asked: Asked, golden) -> None:  # type: ignore[no-untyped-def]
    golden(document(render_prompt(phase, context, asked)), name=f"test_{phase}_prompt.txt")


def test_precedents_in_a_plan_prompt(context: Context, golden) -> None:  # type: ignore[no-untyped-def]
    steps = (LineageStep(PLAN, 400, 900 / 400), LineageStep(Plan("", "Load B once."), 380, 400 / 380))
    precedent = Precedent("toy/gemm/x.yaml", "d", "gemm with I = 8, J = 8, K = 8 on toy", 2.0, 0.75, steps)
    prompt = render_prompt("plan", replace(context, precedents=(precedent,)))[1].content
    golden(prompt[prompt.index("# What made") : prompt.index("# Options")])
    assert (
        "What made" not in render_prompt("code", replace(context, precedents=(precedent,)), Asked(plan=PLAN))[1].content
    )


def test_custom_workload_prompt(context: Context, golden, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "reference.py").write_text("def scale(x):\n    return {'y': 2 * x}\n")
    tensors = (TensorSpec("x", "float32", (3,), "input"), TensorSpec("y", "float32", (3,), "output"))
    source = f"{tmp_path / 'reference.py'}:scale"
    workload = Workload(
        "scale", "custom", "toy", {}, tensors, {}, {}, {"N": 3}, Tolerance(1e-5), 0, KERNEL, reference_source=source
    )
    messages = render_prompt("plan", replace(context, workload=workload, lineage=()))
    golden(messages[1].content.split("# The kernel to improve")[0])


def test_a_prompt_depends_on_nothing_but_its_arguments(context: Context) -> None:
    assert render_prompt("plan", context) == render_prompt("plan", context)
    assert context.random.getstate() == type(context.random)(5).getstate()


def test_transposes_and_bias_are_stated(context: Context) -> None:
    options = {**a_workload().options, "transpose_a": True, "bias": "row", "activation": "relu"}
    text = render_prompt("plan", replace(context, workload=replace(a_workload(), options=options)))[1].content
    assert "A[K][I]" in text
    assert "relu(A · B + bias)" in text


def test_only_the_options_that_are_left_in_the_menu_are_shown(context: Context) -> None:
    one = replace(context.menu, options=context.menu.options[:1])
    text = render_prompt("plan", replace(context, menu=one))[1].content
    assert "## tile" in text
    assert "## hoist" not in text


def test_lines_are_numbered_and_bear_the_cycles_waited(context: Context) -> None:
    text = annotated(KERNEL, feedback(context))
    assert text.splitlines()[1:4] == [
        "2 |    |   for (int k = 0; k < 8; k += 4) {",
        "3 | 40 |     load(&A[0][k], 0);",
        "4 |    |     load(&B[k][0], 4);",
    ]


def test_a_users_template_replaces_the_shipped_one(context: Context, tmp_path: Path) -> None:
    (tmp_path / "plan.j2").write_text(
        'Make {{ workload.name }} fast, in {{ count }} ways.\n{% include "workload.j2" %}'
    )
    system, user = render_prompt("plan", context, Asked(count=2), templates=tmp_path)
    assert user.content.startswith("Make gemm_4x4x8 fast, in 2 ways.\n# What is to be computed")
    assert system == render_prompt("plan", context)[0]


def test_what_was_tried_before_is_told_once_with_how_often(context: Context) -> None:
    known = Attempt(Plan("", "Swap."), "duplicate")
    attempts = (known, Attempt(PLAN, "failed smoke"), Attempt(Plan("", "Unroll."), "correct", 1.25), known)
    text = render_prompt("plan", replace(context, attempts=attempts))[1].content
    told = "- tile: Cut the loop at line 2. -> failed smoke\n- free: Unroll. -> correct, 1.25x\n- free: Swap. -> "
    assert f"{told}a kernel that is known already (2 times)\n" in text


def test_findings_take_the_place_of_attempts(context: Context) -> None:
    attempts = (Attempt(PLAN, "failed smoke"),)
    text = render_prompt("plan", replace(context, attempts=attempts, findings="Tiling pays."))[1].content
    assert "# What the search has shown\n\nTiling pays." in text
    assert "failed smoke" not in text


def test_a_black_box_shows_cycles_and_nothing_of_where_they_went(context: Context) -> None:
    text = render_prompt("plan", replace(context, evaluation=context.evaluation.without_evidence()))[1].content
    assert "- cycles: 1,200" in text
    for hidden in ("utilisation", "dram", " used (", "Where the cycles", "In words", "cost most"):
        assert hidden not in text


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ wrokload }}", "plan.j2: 'wrokload' is undefined"),
        ("line\n{% if %}", r"plan\.j2:2: "),
        ('{% include "lost.j2" %}', "no prompt template 'lost.j2'"),
    ],
)
def test_a_template_that_does_not_render_is_an_error(
    context: Context, tmp_path: Path, template: str, expected: str
) -> None:
    (tmp_path / "plan.j2").write_text(template)
    with pytest.raises(ConfigError, match=expected):
        render_prompt("plan", context, templates=tmp_path)


def test_the_story_is_the_critical_path_where_that_is_known(context: Context) -> None:
    segment = PathSegment(6, "load", "Busy", None, "", 50, 1, 0.5, "line 6: load works")
    known = Limits(4, 100, (segment,), (WhatIf("load.instant", "if unit load were infinitely fast", 60, 0.4),))
    text = document(render_prompt("plan", replace(context, diagnosis=Diagnosis(limits=known)), PLANNING))
    assert "50% of the critical path: line 6: load works" in text
    assert "if unit load were infinitely fast, the kernel would take 40% fewer cycles" in text


def test_lines_bear_their_shares_of_the_time_where_the_critical_path_is_known(context: Context) -> None:
    costs = (LineCost(5, "multiply(0, 4, 8);", 2, 995, {"Busy": 995}), LineCost(3, "load(&A[0][k], 0);", 2, 5))
    text = document(render_prompt("plan", replace(context, diagnosis=Diagnosis(lines=costs)), PLANNING))
    assert "5 | 99.5% |     multiply(0, 4, 8);\n6 |       |   }" in text
    assert "- line 5: 99.5 % (Busy 99.5 %)\n" in text


def test_an_option_names_those_of_its_causes_that_occur(context: Context) -> None:
    option = MenuOption("near", "Near", "Keep it near.", applies=Applies(causes=("Bus", "MemoryLatency", "Drain")))
    told = replace(context, menu=replace(context.menu, options=(option,)))
    assert "It is against MemoryLatency: up to " in document(render_prompt("plan", told, PLANNING))


def test_options_that_mean_nothing_for_the_workload_or_need_what_the_machine_lacks_are_left_out(
    context: Context,
) -> None:
    keep = MenuOption("keep", "Keep", "Keep it.", uses=("preload",))
    plain = MenuOption("plain", "Add", "Add it.", applies=Applies(unless=(("bias", "none"),)))
    usual = context.menu.options
    whole = replace(context, menu=replace(context.menu, options=(*usual, keep, plain)))

    def told(*lacks: str) -> set[str]:
        whole.target.lacks = frozenset(lacks)
        found = offers(whole, ())
        return {offer.option.id for offer in (*found.detailed, *found.brief)}

    assert told() == {option.id for option in usual} | {"keep"}
    assert told("preload") == {option.id for option in usual}


def test_line_numbers_that_an_answer_copied_are_taken_off() -> None:
    assert unnumbered(numbered(KERNEL)).strip() == KERNEL.strip()
    assert unnumbered(KERNEL) == KERNEL


def test_lessons_of_other_kernels_are_told_with_their_reasons(context: Context) -> None:
    lessons = (
        Attempt(PLAN, "failed smoke", None, "row 8 was overwritten"),
        Attempt(Plan("", "Unroll."), "correct", 1.25),
    )
    text = render_prompt("plan", replace(context, lessons=lessons))[1].content
    assert "# What was tried on other kernels" in text
    assert "-> failed smoke: row 8 was overwritten\n- free: Unroll. -> correct, 1.25x" in text


def test_the_tokens_of_sections_add_up(context: Context) -> None:
    messages = render_prompt("plan", context)
    sections = tokens_by_section(messages)
    assert {"The kernel language", "Options", "Your task"} <= {name for name, _ in sections}
    whole = sum(estimate_tokens(message.content) for message in messages)
    assert abs(sum(count for _, count in sections) - whole) <= len(sections)


def test_units_without_work_are_not_told(context: Context) -> None:
    evidence = replace(context.evaluation.evidence, parts={"load": {"Busy": 200}, "spare": {"QueueFull": 1200}})
    told = feedback(replace(context, evaluation=replace(context.evaluation, evidence=evidence)))
    assert [unit for unit, _ in told.stalls] == ["load"]


def test_who_writes_the_kernel_with_the_plan_is_told_what_changes_would_save(context: Context) -> None:
    text = render_prompt("single", context, PLANNING)[1].content
    assert 'work on 4 iterations of k at a time, with {"loops": {"k": 4}}; saves up to 300 cycles' in text
    assert "move 1" not in text
    assert "ready" not in text.partition("# Options")[2]


def test_a_broken_kernel_is_named_by_its_file(command: Run) -> None:
    Path("broken.c").write_text("void solution(int8_t A[2][2]) {\n  load(;\n}\n")
    code, _, err = command("prompt", "broken.c", "--workload", "small.yaml")
    assert code != 0
    assert "broken.c:2:" in err
