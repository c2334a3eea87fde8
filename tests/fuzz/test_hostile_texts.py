"""Readers of users' texts end in a located error, soon, whatever the text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from autocomp import yaml_text
from autocomp.errors import ConfigError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.trace import MAX_BYTES, parse_trace, read_trace
from autocomp.yaml_text import read_yaml

from .texts import READERS, changed, read, shipped

LEVELS = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 10))
DOCUMENTS = {
    "a bomb of aliases": f"l0: &l0 [x, x]\n{LEVELS}",
    "an alias of itself": "a: &a [*a]",
    "brackets": "[" * 10_000,
    "blocks": "\n".join(" " * n + "a:" for n in range(200)),
    "a date that is none": "a: 2020-13-45",
    "a long number": "a: " + "9" * 10_000,
    "control characters": "a: \x00",
    "a large text": "a: " + "x" * 2_000_000,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_hostile_document_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        read_yaml(DOCUMENTS[name], "w.yaml")


def test_a_document_of_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_text, "MAX_NODES", 1000)
    with pytest.raises(ConfigError, match="1,000"):
        read_yaml("[" + "1," * 1000 + "]", "w.yaml")


def test_anchors_within_bounds_may_be_used() -> None:
    assert read_yaml("a: &a [1, 2]\nb: *a", "w.yaml")[0] == {"a": [1, 2], "b": [1, 2]}


@pytest.fixture(scope="module")
def tiny() -> tuple[isa.Accelerator, isa.MachineTables]:
    machine = isa.load("tiny")
    return machine, isa.lower(machine)


@pytest.mark.parametrize("gap", ["9" * 30, "9" * 5000, "-1", "x", str(1 << 62)])
def test_a_gap_out_of_range_is_an_error_of_its_line(tiny: tuple[isa.Accelerator, isa.MachineTables], gap: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_trace(f"# gaps\n@cycle-gap {gap}\n", "t.txt", *tiny)
    assert error.value.place is not None
    assert error.value.place.line == 2


def test_a_damaged_archive_is_refused(tiny: tuple[isa.Accelerator, isa.MachineTables], tmp_path: Path) -> None:
    path = tmp_path / "t.gz"
    data = bytearray(gzip.compress(b"fence\n" * 1000))
    data[15] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_trace(path, *tiny)


def test_an_archive_that_unpacks_to_too_much_is_refused(
    tiny: tuple[isa.Accelerator, isa.MachineTables], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autocomp.targets.simulator.trace.MAX_BYTES", 1000)
    assert MAX_BYTES > 1000
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(b"\n" * 100_000))
    with pytest.raises(ConfigError, match="at most 1,000 bytes"):
        read_trace(path, *tiny)


def test_escapes_in_descriptions_never_fail() -> None:
    for text in (r"\x", r"\N{x}", r"\"", "\\\\", r"\u12", "\x00"):
        isa.parse(f'accelerator m {{ doc "{text}"; memory dram {{ kind: dram; }} instruction f() {{ }} }}', "m.isa")


@pytest.mark.parametrize("target", READERS)
def test_changed_texts_are_read_or_refused(target: str) -> None:
    import random

    chance = random.Random(7)
    texts = shipped(target)
    for _ in range(6):
        read(target, changed(texts, chance))
