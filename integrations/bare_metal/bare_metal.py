"""python integrations/bare_metal/bare_metal.py WORKLOAD [--evaluations N]

An exported kernel on a bare RISC-V core: C from the library, compiled by a RISC-V compiler, run by QEMU. The commands
that it sends are those of the accelerator. The simulator runs them, and every byte must be what the kernel gives there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import autocomp
from autocomp.errors import ConfigError
from autocomp.export.host import Replay, random_array
from autocomp.targets.simulator.target import accelerator_of

HERE = Path(__file__).parent
COMPILER, EMULATOR = "riscv64-unknown-elf-gcc", "qemu-riscv64"
FLAGS = ["-std=gnu11", "-O2", "-ffreestanding", "-nostartfiles", "-static", "-march=rv64imafdc", "-mabi=lp64d"]
FLAGS += [
    "-mcmodel=medany",
    "--specs=picolibc.specs",
    "-fwrapv",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wconversion",
]
# The linker's script is for a small microcontroller: these sizes hold programs and tensors.
FLAGS += [f"-Wl,--defsym=__{name}" for name in ("flash_size=0x4000000", "ram=0x20000000", "ram_size=0x20000000")]
COMMANDED, CONTENTS, WAITED = range(3)  # the records of main.c
WORD = np.dtype("<u8").itemsize
C_TYPES = {"int8": "int8_t", "int32": "int32_t", "float32": "float"}
SECONDS = 120
Arrays = Mapping[str, npt.NDArray[Any]]


def run(answer: autocomp.Answer, arrays: Arrays) -> tuple[dict[str, npt.NDArray[Any]], int]:
    """All tensors after the commands of the kernel on RISC-V ran on the simulator, by name, and the number of commands.
    Raises ConfigError where a tool is missing or the program fails."""
    for tool in (COMPILER, EMULATOR):
        if shutil.which(tool) is None:
            raise ConfigError(
                f"{tool} is not installed",
                hint="apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-user",
            )
    with tempfile.TemporaryDirectory() as name:
        recorded = _recorded(answer, Path(name))
    tensors = answer.workload.tensors
    first = np.frombuffer(recorded[: WORD * len(tensors)], "<u8")
    addresses = {tensor.name: int(address) for tensor, address in zip(tensors, first, strict=True)}
    steps = list(_steps(recorded[WORD * len(tensors) :]))
    memory = {tensor.name: arrays[tensor.name].copy() for tensor in tensors}
    own = {address: np.zeros(len(data), np.uint8) for step in steps for address, data in step.contents.items()}
    for address, array in own.items():
        memory[f"array at {address}"], addresses[f"array at {address}"] = array, address
    replay = Replay(accelerator_of(answer.target, "bare metal"), memory, addresses)
    before = {address: array.copy() for address, array in own.items()}
    for step in steps:
        for address, data in step.contents.items():
            written = data != before[address]  # by the host: the machine's own results are not on RISC-V
            own[address][written] = data[written]
            before[address] = data
        replay.run(step.words)
    return {tensor.name: memory[tensor.name] for tensor in tensors}, sum(len(step.words) for step in steps) // 3


@dataclass(frozen=True)
class Step:
    """The words of the commands between two waits, and the kernel's own arrays at its end, by their addresses."""

    words: list[int]
    contents: dict[int, npt.NDArray[np.uint8]]


def _steps(records: bytes) -> Iterator[Step]:
    step, place = Step([], {}), 0

    def words(number: int) -> list[int]:
        return [int(word) for word in np.frombuffer(records, "<u8", number, place)]

    while place < len(records):
        [kind] = words(1)
        place += WORD
        if kind == COMMANDED:
            step.words.extend(words(3))
            place += 3 * WORD
        elif kind == CONTENTS:
            address, size = words(2)
            place += 2 * WORD
            step.contents[address] = np.frombuffer(records, np.uint8, size, place)
            place += size
        elif kind == WAITED:
            yield step
            step = Step([], {})


def _recorded(answer: autocomp.Answer, folder: Path) -> bytes:
    """The output of the program on RISC-V: the addresses of its tensors, then its records."""
    files = answer.to_c("machine.h")
    for file, text in files.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    [kernel] = json.loads(files["export.json"])["kernels"]
    (folder / "example.h").write_text(_example(answer, kernel))
    sources = [str(HERE / "main.c"), str(folder / kernel["file"])]
    include = [f"-I{folder}", f"-I{folder / 'host'}"]
    program = str(folder / "program")
    subprocess.run([COMPILER, *FLAGS, *include, "-o", program, *sources], check=True)
    done = subprocess.run([EMULATOR, program], capture_output=True, check=False, timeout=SECONDS)
    if done.returncode != 0:
        raise ConfigError(f"the program on RISC-V ends with {done.returncode}; 2 is a kernel with more than 64 arrays")
    return done.stdout


def _example(answer: autocomp.Answer, kernel: Mapping[str, Any]) -> str:
    """The header of the program: its tensors, what the accelerator's header calls, and the call of the kernel, which is
    one of `export.json`."""
    accelerator = accelerator_of(answer.target, "bare metal")
    tensors = answer.workload.tensors
    scales = [f"{float(answer.workload.options[name])!r}f" for name in kernel["arguments"]]
    return "\n".join(
        [
            '#include "kernels.h"',
            *(f"static {C_TYPES[t.dtype]} {t.name}_tensor[{int(np.prod(t.shape))}];" for t in tensors),
            f"#define ADDRESSES {', '.join(f'(uint64_t){t.name}_tensor' for t in tensors)}",
            f"#define COMMAND {accelerator.name}_command",
            f"#define WAIT {accelerator.name}_wait",
            f"#define CALL {kernel['function']}({', '.join([*(f'{t.name}_tensor' for t in tensors), *scales])})",
            "void COMMAND(uint64_t funct, uint64_t rs1, uint64_t rs2);",
            "void WAIT(void);",
            "void autocomp_memory(const void *array, size_t bytes);",
            "void _start(void);",
            "",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload")
    parser.add_argument("--evaluations", type=int, default=4)
    arguments = parser.parse_args()
    answer = autocomp.lookup_or_adapt(arguments.workload, evaluations=arguments.evaluations, keep=False)
    generator = np.random.default_rng()
    arrays = {tensor.name: random_array(tensor, generator) for tensor in answer.workload.tensors}
    found, commands = run(answer, arrays)
    expected = answer.run(arrays)
    equal = all(found[name].tobytes() == expected[name].tobytes() for name in expected)
    print(
        f"{commands} commands on RISC-V; {'every byte as' if equal else 'not what'} the kernel gives on the simulator"
    )
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
