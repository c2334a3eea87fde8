"""The digest of a machine is that of its meaning: words do not change it, and every other change does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autocomp import workload as workloads
from autocomp.data import data_dir
from autocomp.schedules.index import read_index
from autocomp.schedules.record import from_yaml
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


@pytest.mark.parametrize("name", [path.stem for path in sorted(data_dir("isa").glob("*.isa"))])
def test_other_comments_leave_the_digest_of_a_shipped_machine(name: str, tmp_path: Path) -> None:
    source = data_dir("isa") / f"{name}.isa"
    lines = [line.split("//")[0] + "// other words" for line in source.read_text().splitlines()]
    edited = tmp_path / source.name
    edited.write_text("// of another year\n" + "\n".join(lines) + "\n")
    assert load_target(f"simulator:{edited}").digest == load_target(f"simulator:{name}").digest


@pytest.mark.long
def test_shipped_schedules_are_of_the_machines_as_they_are_described_now() -> None:
    """`autocomp schedules verify --renew` renews them after a change of a machine's meaning."""
    shipped = data_dir("schedules")
    records = [from_yaml((shipped / e.path).read_text(), e.path) for e in read_index(shipped) or ()]
    assert records
    machines = {json.dumps(r.target.model_dump(), sort_keys=True): r.target for r in records}
    stale = [m.spec for m in machines.values() if load_target(m.spec, m.parameters).digest != m.digest]
    assert not stale


def test_cached_verdicts_survive_a_comment_and_no_change_of_meaning(tmp_path: Path) -> None:
    workload = workloads.parse("operation: gemm\ntarget: simulator:m\ndims: {I: 4, J: 4, K: 4}\n", Path("m.yaml"))
    scopes = []
    for text in (TEXT, "// by another hand\n" + TEXT, TEXT.replace("latency: 5", "latency: 6")):
        (tmp_path / "m.isa").write_text(text)
        scopes.append(scope_of(load_target("simulator:m", {}, [tmp_path]), workload, "1"))
    assert scopes[0] == scopes[1]
    assert scopes[0] != scopes[2]
