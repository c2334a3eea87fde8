"""Fuzz the readers of users' texts: whatever they are given, only located errors come out, and soon.

    python -m tests.fuzz.texts TARGET SECONDS [SEED]

Texts that ship with the package are changed at random: words, pieces of each other, whatever breaks careless readers.
"""

from __future__ import annotations

import gzip
import random
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from autocomp.simulator import SimulationOptions, replay_trace, run_program

from autocomp.data import data_dir
from autocomp.schedules.record import from_yaml
from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.start.naive import starting_kernel
from autocomp.targets.simulator.trace import parse_trace
from autocomp.workload import InputSet, load, make_inputs
from autocomp.workload.load import parse as parse_workload
from autocomp.yaml_text import read_yaml

from .hunt import attempt, hunt

LIMITS = SimulationOptions(max_steps=20_000, max_cycles=100_000, discipline=True)
PIECES = (
    "9" * 30,
    "-1",
    "0x",
    "((((",
    "{",
    "}",
    ";",
    "1e999",
    "\x00",
    "\ufeff",
    "\r\n",
    "*",
    "&a",
    "<<",
    "//",
    "'",
    "\t",
)
MEASURED = Path(__file__).parents[2] / "benchmarks" / "rtl" / "traces"
LIBRARY = """
int twice(const int x) { return 2 * x; }
void solution(int8_t A[512][512], int8_t B[512][512], int8_t C[512][512]) {
  static int8_t copy[64];
  float scale = 0.5f;
  int8_t* p = &copy[3];
  uint32_t rows[3] = {1, 2, 3};
  for (size_t i = 0; i < 4; ++i) {
    if (i == 2) continue;
    p[i] = (int8_t)(twice(i) << 3 | rows[i % 3]);
    scale *= -1.0f;
  }
  while (scale < 0) scale += 1e3f;
  do { *p = p[1] / (p[2] + 1); } while (*p > 100);
  tiled_matmul_auto(512, 512, 512, A, B, NULL, C, 512, 512, 512, 512, 1.0f, 1.0f, 1.0f, RELU, scale, 0, true, false,
                    false, false, false, 0, WS);
  gemmini_extended_config_st(512, 0, 0.5f);
  fence();
}
"""
WORD = re.compile(r"\w+|\s+|[^\w\s]")


@cache
def _machine() -> tuple[isa.Accelerator, isa.MachineTables]:
    machine = isa.load("gemmini")
    return machine, isa.lower(machine)


def read_kernel(text: str) -> None:
    machine, tables = _machine()
    workload = load("gemm", overrides=None)
    checked = kernel.check(kernel.parse(text, "k.c"), machine, workload.constants, workload.tensors)
    program = kernel.link(checked.program, tables)
    arrays = make_inputs(workload, InputSet("random", "random", 0))
    named = {p.name: arrays[t.name] for p, t in zip(checked.parameters, workload.tensors, strict=True)}
    run_program(tables.machine, program, named, LIMITS)


def read_isa(text: str) -> None:
    isa.lower(isa.parse(text, "m.isa"))


def read_trace(text: str) -> None:
    machine, tables = _machine()
    replay_trace(tables.machine, parse_trace(text, "t.txt", machine, tables).trace, LIMITS)


READERS: Mapping[str, Callable[[str], object]] = {
    "kernel": read_kernel,
    "isa": read_isa,
    "trace-text": read_trace,
    "workload": lambda text: parse_workload(text, Path("w.yaml")),
    "schedule": lambda text: from_yaml(text, "s.yaml"),
    "yaml": lambda text: read_yaml(text, "y.yaml"),
}


def shipped(target: str) -> list[str]:
    """Texts that the reader accepts."""
    if target == "kernel":
        return [starting_kernel(load("gemm"), _machine()[0]), LIBRARY]
    if target == "trace-text":
        traces = sorted(MEASURED.glob("*.txt.gz"), key=lambda path: (path.stat().st_size, path.name))
        return ["fence\n", *(gzip.decompress(path.read_bytes()).decode() for path in traces[:300:10])]
    kinds = {"isa": "isa", "workload": "workloads", "schedule": "schedules", "yaml": "menus"}
    files = data_dir(kinds[target]).rglob("*.isa" if target == "isa" else "*.yaml")
    return sorted((path.read_text(encoding="utf-8") for path in files), key=len)[:7]  # short ones are read soon


def changed(texts: list[str], chance: random.Random) -> str:
    words = WORD.findall(chance.choice(texts))
    other = WORD.findall(chance.choice(texts))
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(words) + 1)
        start = chance.randrange(max(1, len(other)))
        piece = chance.choice([[chance.choice(PIECES)], other[start : start + chance.randint(1, 20)], []])
        words[place : place + chance.randint(0, 3)] = piece * chance.choice([1, 1, 1, 1, 200])
    return "".join(words)


def read(target: str, text: str) -> None:
    """Raises Finding unless the reader takes the text, or refuses it, in time."""
    attempt(lambda: READERS[target](text))


def main(target: str, seconds: float, seed: int) -> None:
    texts = shipped(target)
    hunt(
        target,
        [text.encode() for text in texts],
        lambda data: READERS[target](data.decode("utf-8", "surrogatepass")),
        lambda chance: changed(texts, chance).encode("utf-8", "surrogatepass"),
        seconds,
        seed,
    )


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1)
