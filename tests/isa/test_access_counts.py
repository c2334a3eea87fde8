"""Accesses as a published model counts them.

Timeloop's exercise "02-model-conv1d+oc-2level", mapping "tiling" (timeloop-model.stats.txt of
github.com/Accelergy-Project/timeloop-accelergy-exercises): sums of R = 3 products for P = 16 places and K = 32 filters,
K in tiles of 2. A buffer holds two filters, three inputs of a sliding window and two sums; main memory holds the rest.
"""

from __future__ import annotations

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.targets.simulator import isa, kernel
from autocomp.targets.simulator.isa.energy import energy

TEXT = """
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
KERNEL = """
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
PUBLISHED = {
    "mac": 1536,
    "main.read": 96 + 288,  # weights and inputs
    "main.write": 512,
    "weights.write": 96,  # fills
    "weights.read": 1536,
    "inputs.write": 288,
    "inputs.read": 1536,
    "outputs.write": 1536,  # updates
    "outputs.read": 1024,
}
DRAINED = 512  # Timeloop hands finished sums to main memory without a read of the buffer; a store here reads them


@pytest.mark.parametrize("generic", [False, True])
def test_a_mapping_has_the_accesses_that_timeloop_publishes_for_it(generic: bool) -> None:
    accelerator = isa.parse(TEXT)
    tables = isa.lower(accelerator)
    program = kernel.link(kernel.compile(kernel.parse(KERNEL), accelerator), tables)
    random = np.random.default_rng(0)
    w, x = random.integers(-4, 4, (32, 3), np.int8), random.integers(-4, 4, 18, np.int8)
    tensors = {"W": w, "X": x, "Y": np.zeros((32, 16), np.int8)}
    result = run_program(tables.machine, program, tensors, SimulationOptions(generic=generic, outputs=("Y",)))
    assert result.error is None, result.error
    assert result.timing is not None
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    np.testing.assert_array_equal(result.outputs["Y"], w @ windows.T)
    counted = energy(accelerator, result.work, result.timing.cycles)
    assert counted is not None
    assert counted.components == {**PUBLISHED, "outputs.read": PUBLISHED["outputs.read"] + DRAINED}
