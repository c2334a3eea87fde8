"""Our accesses and energies beside those of published models of energy.

    python -m benchmarks.published_energy

First a mapping of Timeloop's exercises, written as a kernel for the machine of that exercise. Printed are accesses by
component as the simulator counts them and as Timeloop publishes them, and the energy by Accelergy's figures for an
access. Then the product of 512 x 512 x 512 that was written by hand for `tpu_v1`. The energy of its accesses is by its
description, and by ZigZag's model of a machine of its kind.

Sources: github.com/Accelergy-Project/timeloop-accelergy-exercises, exercise 02-model-conv1d+oc-2level, mapping
"tiling", timeloop-model.stats.txt; github.com/KULeuven-MICAS/zigzag, inputs/hardware/tpu_like.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from autocomp.simulator import SimulationOptions, run_program
from rich.console import Console
from rich.table import Table

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.energy import energy
from benchmarks.energy import COMPONENT
from benchmarks.machines import by_hand, cases

# Sums of 3 products for 16 places and 32 filters, filters in tiles of 2. A buffer of 8-bit words holds two filters,
# three inputs of a sliding window and two sums; main memory holds the rest. Each energy is 1: so components are counts.
TWO_LEVELS = """
accelerator two_levels {
  memory main { kind: dram; }
  memory weights { rows: 6; row: i8[1]; }
  memory inputs { rows: 3; row: i8[1]; }
  memory outputs { rows: 2; row: i8[1]; }
  address weight { field row = 2..0; memory weights; }
  address input { field row = 1..0; memory inputs; }
  address output { field row = 0..0; memory outputs; }
  hazards { tracked: 1; dram: 1; }
  energy { mac: 1; main.byte: 1; weights.byte: 1; inputs.byte: 1; outputs.byte: 1; }
  unit load { kind: transfer_in; }
  unit compute { kind: serial; }
  unit store { kind: transfer_out; }
  instruction load_weight(to: weight, from: main*) on load {
    require from != 0 : "a load needs an address";
    semantics { weights[to.row][0] = from.i8[0]; }
  }
  instruction load_input(to: input, from: main*) on load {
    require from != 0 : "a load needs an address";
    semantics { inputs[to.row][0] = from.i8[0]; }
  }
  instruction multiply(to: output, w: weight, x: input) on compute {
    semantics { outputs[to.row][0] = wrap<i8>(weights[w.row][0] * inputs[x.row][0]); }
  }
  instruction accumulate(to: output, w: weight, x: input) on compute {
    semantics { outputs[to.row][0] = wrap<i8>(outputs[to.row][0] + weights[w.row][0] * inputs[x.row][0]); }
  }
  instruction store_output(to: main*, from: output) on store {
    require to != 0 : "a store needs an address";
    semantics { to.i8[0] = outputs[from.row][0]; }
  }
  instruction fence() { timing { role: fence; } }
}
"""
TILING = """
void solution(int8_t W[32][3], int8_t X[18], int8_t Y[32][16]) {
    for (int k = 0; k < 32; k += 2) {
        for (int j = 0; j < 6; j++) load_weight(j, &W[k + j / 3][j % 3]);
        for (int p = 0; p < 16; p++) {
            for (int r = p == 0 ? 0 : 2; r < 3; r++) load_input((p + r) % 3, &X[p + r]);
            for (int j = 0; j < 2; j++)
                for (int r = 0; r < 3; r++) {
                    if (r == 0) multiply(j, 3 * j + r, (p + r) % 3);
                    else accumulate(j, 3 * j + r, (p + r) % 3);
                }
            for (int j = 0; j < 2; j++) store_output(&Y[k + j][p], j);
        }
    }
    fence();
}
"""
# What Timeloop publishes for the mapping. A sum enters the buffer as an update; Timeloop also counts a fill for each of
# the 512 finished sums and no read for handing it on, where a store of ours reads it: as many accesses.
TIMELOOP: Mapping[str, int] = {
    "mac": 1536,
    "weights.read": 1536,
    "weights.write": 96,
    "inputs.read": 1536,
    "inputs.write": 288,
    "outputs.read": 1024,
    "outputs.write": 1536,
    "outputs.fill": 512,
    "main.read": 96 + 288,
    "main.write": 512,
}
# Picojoules of an access, and of all.
ACCELERGY: Mapping[str, float] = {"mac": 0.60, "weights": 0.42, "inputs": 0.42, "outputs": 0.42, "main": 39.88 / 8}
TIMELOOP_PICOJOULES: Mapping[str, float] = {
    "mac": 926.21,
    "weights": 685.44,
    "inputs": 766.08,
    "outputs": 1290.24,
    "main": 478.54 + 1435.61 + 2552.19,
}

# ZigZag's tpu_like: pJ of a byte (DRAM by 64 bits, SRAM of 2 MB by 2048 bits, registers of weights by 8 bits) and of a
# product. Its sums of two bytes are in registers beside the multipliers or in the SRAM; ours are in a memory of 4 MB.
ZIGZAG: Mapping[str, float] = {
    "mac": 0.04,
    "dram.read": 700 / 8,
    "dram.write": 750 / 8,
    "ub.read": 416.16 / 256,
    "ub.write": 378.4 / 256,
    "acc.read": 416.16 / 256,
    "acc.write": 378.4 / 256,
    "fifo.read": 0.095,
    "fifo.write": 0.095,
}


def counted(generic: bool = False) -> Mapping[str, float]:
    """Accesses by component that the simulator counts for the mapping. Raises SystemExit where its sums are wrong."""
    accelerator = isa.parse(TWO_LEVELS)
    tables = isa.lower(accelerator)
    program = kernel.link(kernel.compile(kernel.parse(TILING), accelerator), tables)
    random = np.random.default_rng(0)
    w, x = random.integers(-4, 4, (32, 3), np.int8), random.integers(-4, 4, 18, np.int8)
    tensors = {"W": w, "X": x, "Y": np.zeros((32, 16), np.int8)}
    result = run_program(tables.machine, program, tensors, SimulationOptions(generic=generic, outputs=("Y",)))
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    if result.error is not None or result.timing is None or (result.outputs["Y"] != w @ windows.T).any():
        raise SystemExit(f"the mapping did not run: {result.error or 'its sums are wrong'}")
    spent = energy(accelerator, result.work, result.timing.cycles)
    assert spent is not None
    return spent.components


def by_memory(counts: Mapping[str, float]) -> dict[str, float]:
    """Accesses of either way, by memory."""
    totals: dict[str, float] = {}
    for component, count in counts.items():
        memory = component.partition(".")[0]
        totals[memory] = totals.get(memory, 0) + count
    return totals


def against_timeloop() -> Table:
    table = Table(
        "", "accesses", "Timeloop", "pJ each", "pJ", "Timeloop, pJ", title="a mapping of Timeloop's exercises"
    )
    ours, theirs = by_memory(counted()), by_memory(TIMELOOP)
    spent = {name: count * ACCELERGY[name] for name, count in ours.items()}
    for name, picojoules in TIMELOOP_PICOJOULES.items():
        counts = f"{ours[name]:,.0f}", f"{theirs[name]:,.0f}", f"{ACCELERGY[name]:.3f}"
        table.add_row(name, *counts, f"{spent[name]:,.1f}", f"{picojoules:,.1f}")
    table.add_row("all", "", "", "", f"{sum(spent.values()):,.1f}", f"{sum(TIMELOOP_PICOJOULES.values()):,.1f}")
    return table


def against_zigzag(machine: str = "tpu_v1") -> Table:
    """The same accesses of the same kernel by both tables."""
    workload = next(cases(machine, ()))
    evaluation = by_hand(machine, workload)
    assert evaluation is not None
    figures = evaluation.evidence.figures
    stated = isa.load(machine).energy
    table = Table("", "accesses", "pJ each", "ZigZag, pJ each", "nJ", "ZigZag, nJ", title=f"{machine}, {workload.name}")
    totals = [0.0, 0.0]
    for component, published in ZIGZAG.items():
        spent = figures.get(COMPONENT + component, 0.0)
        accesses = 1000 * spent / stated[component]
        totals = [totals[0] + spent, totals[1] + accesses * published / 1000]
        each = f"{stated[component]:.3f}", f"{published:.3f}"
        table.add_row(component, f"{accesses:,.0f}", *each, f"{spent:,.0f}", f"{accesses * published / 1000:,.0f}")
    table.add_row("all", "", "", "", *(f"{total:,.0f}" for total in totals))
    return table


def main() -> None:
    console = Console(width=120)
    console.print(against_timeloop())
    console.print(against_zigzag())


if __name__ == "__main__":
    main()
