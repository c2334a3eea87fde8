"""A model drafts a machine from its manual: a recorded conversation, replayed by a server on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocomp.drafting.check import check_draft, multiplication
from autocomp.drafting.draft import located
from autocomp.drafting.manual import read_manual
from benchmarks.models.__main__ import DRAFTS

from .conftest import Run, ScriptedServer, completion

VTA = Path(__file__).parent / "manuals" / "vta"
DRAFT = ("isa", "draft", str(VTA / "manual.md"), "-o", "vta.isa", "--evaluations", "0")


def answer(number: int) -> str:
    return (VTA / f"answer_{number}.isa").read_text()


def fenced(text: str) -> str:
    return f"Here it is.\n\n````isa\n{text}````\n"


def test_a_draft_is_mended_until_it_holds(command: Run, server: ScriptedServer) -> None:
    server.script(completion(fenced(answer(1))), completion(fenced(answer(2))))
    code, out, err = command(*DRAFT, "--planner-model", server.spec, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert (report["rounds"], report["faults"]) == (2, [])
    assert Path("vta.isa").read_text() == answer(2)
    again = server.requests[1].prompt
    assert "'DRAM answers after 40 cycles' do not occur in manual.md" in again
    assert "memory accumulators cites no source" in again
    assert "fails discipline" in again


def test_unknown_figures_are_weighed_and_left_to_a_person(command: Run, server: ScriptedServer) -> None:
    server.script(completion(fenced(answer(2))))
    code, out, err = command(*DRAFT, "--planner-model", server.spec, "--plain")
    assert code == 0, err
    assert "MEM_LATENCY  10 to 200" in out
    assert "to settle: MEM_LATENCY is unknown, 10 to 200" in out
    assert "load_accumulators" in out
    assert "alone: it runs; its results are as drafted" in out


def test_a_draft_that_never_holds_is_kept_and_fails(command: Run, server: ScriptedServer) -> None:
    server.respond = lambda request: completion(fenced(answer(1)))
    code, out, err = command(*DRAFT, "--rounds", "2", "--planner-model", server.spec)
    assert code != 0
    assert "has faults after 2 rounds" in err
    assert "fault: line" in out
    assert Path("vta.isa").read_text() == answer(1)


def test_a_repeated_draft_asks_nobody(command: Run, server: ScriptedServer) -> None:
    server.script(completion(fenced(answer(1))))
    for _ in range(2):
        assert "has faults after 1 rounds" in command(*DRAFT, "--rounds", "1", "--planner-model", server.spec)[2]
        assert Path("vta.isa").read_text() == answer(1)
        Path("vta.isa").unlink()
    assert len(server.requests) == 1


def test_the_question_holds_manual_language_and_example(command: Run, server: ScriptedServer) -> None:
    server.script(completion("I cannot do that."))
    command(*DRAFT, "--rounds", "1", "--planner-model", server.spec)
    for part in ("# manual.md", "The AXI port moves 8 bytes a cycle", "accelerator tiny {", "| unit | entries |"):
        assert part in server.requests[0].prompt


def test_an_answer_without_a_description_is_an_error(command: Run, server: ScriptedServer) -> None:
    server.respond = lambda request: completion("I cannot do that.")
    code, _, err = command(*DRAFT, "--rounds", "1", "--planner-model", server.spec)
    assert code != 0
    assert "the model gave 1 answers, and none contains a description" in err
    assert not Path("vta.isa").exists()


def faults_of(*changes: tuple[str, str]) -> tuple[str, ...]:
    """The faults of a good draft after some of its texts are replaced."""
    text = answer(2)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    return check_draft(text, read_manual(VTA / "manual.md"), "vta").faults


def test_sources_that_a_fact_lacks_or_misquotes_are_named() -> None:
    faults = faults_of(
        (' from "manual.md: The input buffer has 32 KiB"', ""),
        ("manual.md: The weight buffer has 256 KiB", "other.md: The weight buffer has 256 KiB"),
        ("manual.md: The accumulator buffer has 128 KiB", "The accumulator buffer has 128 KiB"),
        ("manual.md: The AXI port moves 8 bytes a cycle", "manual.md: 8 bytes"),
    )
    expected = ("param INP_KB cites no source", "names 'other.md'", "is not of the form", "must be 8 to 200 characters")
    assert len(faults) == len(expected)
    assert all(part in fault for part, fault in zip(expected, faults, strict=True))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("// gemm: {layout", "// gemm: {operation: conv2d, layout", "states other fields"),
        ("rows: WGT_ROWS;", "rows: WGT_ROW;", "WGT_ROW"),
        ("unknown 1..16", "unknown 1..2048", "param COMMANDS is unknown to 2048, and with that the description fails"),
    ],
)
def test_what_is_wrong_with_a_draft_is_named(old: str, new: str, expected: str) -> None:
    assert any(expected in fault for fault in faults_of((old, new)))


def test_a_range_must_hold_its_default() -> None:
    text = answer(2).replace("unknown 10..200", "unknown 50..200")
    (fault,) = check_draft(text, read_manual(VTA / "manual.md"), "vta").faults
    assert "the default 40 is not within the unknown range 50..200" in fault


def test_the_description_is_found_in_an_answer() -> None:
    text = "// Two lines.\n// Above.\naccelerator a {\n  idiom i() {\n    ``` ```\n  }\n}"
    assert located(f"<think>accelerator x {{\n}}</think>\n```isa\n{text}\n```\nDone: accelerator.") == text + "\n"
    assert located("no machine here") is None


@pytest.mark.long
def test_a_draft_from_a_public_readme_holds() -> None:
    manual = read_manual(VTA.parent / "gemmini" / "README.md")
    outcome = check_draft((DRAFTS / "gemmini" / "1.isa").read_text(encoding="utf-8"), manual, "gemmini")
    assert outcome.faults == ()
    assert {moved.name for moved in outcome.moved if moved.swing > 0.05} == {"MEM_LATENCY", "ARRAY_LATENCY", "BUS"}


def test_a_draft_may_want_an_operand_transposed() -> None:
    form = multiplication("// gemm: {dtype: float32, transpose_a: true}\n", "machine", rows=100)
    assert (form["transpose_a"], form["dims"]) == (True, {"I": 100, "J": 128, "K": 128})
