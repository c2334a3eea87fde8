"""The digest of a machine is that of its meaning: words do not change it, and every other change does."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp import workload as workloads
from autocomp.data import data_dir
from autocomp.search.cache import scope_of
from autocomp.targets.registry import load_target
from autocomp.targets.simulator import isa

TEXT = """
accelerator m {
  doc "A machine.";
  param N = 4 : "columns";
  type elem = i8;
  memory dram { kind: dram; }
  memory s { rows: 16; row: elem[N]; bandwidth: 3; }
  address row_of { field row = 31..0; memory s; }
  unit load { doc "Moves rows in."; kind: serial; entries: 4; }
  instruction fill(dst: row_of, value: int) on load {
    doc "Sets a row.";
    require value < 9 : "the value is too large";
    semantics { for c < N: s[dst.row][c] = value; }
    timing { latency: 5; }
  }
  procedure twice {
    ```
    void twice(int dst) { fill(dst, 0); fill(dst, 0); }
    ```
  }
  idiom set_up(dst) {
    ```
      fill($dst, 0); // a comment
    ```
  }
}
"""
WORDS = {
    "a comment": ("accelerator m", "// a comment\naccelerator m"),
    "the machine's description": ("A machine.", "Another description."),
    "a parameter's description": ('"columns"', '"how many columns"'),
    "an instruction's description": ("Sets a row.", "Sets one row."),
    "a unit's description": ("Moves rows in.", "Loads."),
    "the words of an error": ("the value is too large", "too large"),
    "an idiom's comment": ("// a comment", "/* another */"),
    "spaces": ("type elem", "type   \n\n elem"),
}
MEANING = {
    "a parameter": ("N = 4", "N = 8"),
    "a memory's setting": ("bandwidth: 3", "bandwidth: 4"),
    "a unit's setting": ("entries: 4", "entries: 5"),
    "an instruction's timing": ("latency: 5", "latency: 6"),
    "a requirement": ("value < 9", "value < 8"),
    "semantics": ("[c] = value", "[c] = value + 1"),
    "an idiom": ("fill($dst, 0)", "fill($dst, 1)"),
    "the name of an operand": ("value", "number"),
}
CALLED = ("fill(dst, 0); }", "fill(dst, 2); }")


def digest(text: str) -> str:
    return isa.parse(text, "m.isa").digest


@pytest.mark.parametrize("what", WORDS)
def test_words_and_spaces_leave_the_digest(what: str) -> None:
    old, new = WORDS[what]
    assert old in TEXT
    assert digest(TEXT.replace(old, new)) == digest(TEXT)


@pytest.mark.parametrize("what", MEANING)
def test_meaning_changes_the_digest(what: str) -> None:
    old, new = MEANING[what]
    assert old in TEXT
    assert digest(TEXT.replace(old, new)) != digest(TEXT)


def test_a_record_depends_on_the_machine_and_not_on_procedures_that_its_kernel_may_not_call() -> None:
    old, new = (isa.parse(text, "m.isa") for text in (TEXT, TEXT.replace(*CALLED)))
    assert old.machine_digest == new.machine_digest
    assert old.digest != new.digest


@pytest.mark.parametrize("name", [path.stem for path in sorted(data_dir("isa").glob("*.isa"))])
def test_other_comments_leave_the_digest_of_a_shipped_machine(name: str, tmp_path: Path) -> None:
    source = data_dir("isa") / f"{name}.isa"
    lines = [line.split("//")[0] + "// other words" for line in source.read_text().splitlines()]
    edited = tmp_path / source.name
    edited.write_text("// of another year\n" + "\n".join(lines) + "\n")
    assert load_target(f"simulator:{edited}").digest == load_target(f"simulator:{name}").digest


def test_cached_verdicts_survive_a_comment_and_neither_a_change_of_meaning_nor_of_a_procedure(tmp_path: Path) -> None:
    workload = workloads.parse("operation: gemm\ntarget: simulator:m\ndims: {I: 4, J: 4, K: 4}\n", Path("m.yaml"))
    scopes = []
    edits = ("latency: 5", "latency: 6"), CALLED
    for text in (TEXT, "// by another hand\n" + TEXT, *(TEXT.replace(*edit) for edit in edits)):
        (tmp_path / "m.isa").write_text(text)
        target = load_target("simulator:m", {}, [tmp_path])
        scopes.append(scope_of(target, workload, target.evaluator(workload).version))
    assert scopes[0] == scopes[1]
    assert len(set(scopes)) == 3
