"""The check of an export: its functions compute on this computer what the kernels compute on the simulator.

They are compiled so that C's undefined behaviour shows: automatic variables begin with a pattern instead of what lies
on the stack, and UBSan stops what the language does not define. They run in a process of their own, which it ends.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import CandidateFailure
from autocomp.export.any_size import TRIALS, AnySize, Trial, draw, drawn_values, made, resized, trial_of
from autocomp.export.blocks import Blocks, cuts
from autocomp.export.dispatch import families
from autocomp.export.files import HOST_FOLDER
from autocomp.export.host import Host, compile_library, knows_flags, random_array, run_on_simulator
from autocomp.export.numbers import Numbers
from autocomp.export.quantised import Layer, layers
from autocomp.export.schedule import Schedule
from autocomp.export.source import dispatch_name
from autocomp.schedules.arguments import binary32, bound
from autocomp.search.executors.local import ProcessExecutor
from autocomp.search.executors.protocol import Target
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import Workload

PATTERN = ("-ftrivial-auto-var-init=pattern",)
SANITIZER = ("-fsanitize=undefined", "-fno-sanitize-recover=all")
SHOWN_LINES = 5  # of what the sanitizer says
STANDARD_ERROR = 2


def check_export(
    schedules: Sequence[Schedule], files: Mapping[str, str], accelerator: Accelerator, seed: int = 0
) -> tuple[str, ...]:
    """Compile the files for this computer, call every function and its dispatch on random tensors and arguments, and
    compare the memory with what the simulator makes of the kernel. Returns the flags that this compiler lacks.

    Raises CandidateFailure where they differ or do what C does not define, KernelError where the compiler or the
    simulator refuses.
    """
    flags = [flag for flag in (PATTERN, SANITIZER) if knows_flags(flag)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        library = folder / "kernels.so"
        sources = sorted(folder.rglob("*.c"))
        compile_library(sources, [folder, folder / HOST_FOLDER], library, [word for flag in flags for word in flag])
        _apart(Comparison(library, tuple(schedules), tuple(files), accelerator), seed)
    return tuple(" ".join(flag) for flag in (PATTERN, SANITIZER) if flag not in flags)


@dataclass(frozen=True)
class Comparison:
    """Functions of a library of these files beside the kernels that they are made from."""

    library: Path
    schedules: tuple[Schedule, ...]
    files: tuple[str, ...]
    accelerator: Accelerator

    @property
    def said(self) -> Path:
        """The file that gets the process's standard error."""
        return self.library.with_suffix(".log")

    def run(self, seed: int) -> None:
        """Raises CandidateFailure where a function and its kernel differ."""
        log = os.open(self.said, os.O_WRONLY)
        os.dup2(log, STANDARD_ERROR)
        generator = np.random.default_rng(seed)
        host = Host(self.library, self.accelerator)
        for schedule in self.schedules:
            arrays = {t.name: random_array(t, generator) for t in schedule.tensors}
            given = {name: binary32(generator.uniform(0.5, 2.0) * value) for name, value in schedule.arguments.items()}
            text = bound(schedule.kernel, schedule.arguments, given)
            expected = run_on_simulator(
                text, schedule.source, schedule.tensors, schedule.constants, self.accelerator, arrays
            )
            numbers = tuple(given.values())
            _call(host, schedule, schedule.function, (), arrays, numbers, expected)
            dispatch = dispatch_name(schedule)
            if dispatch is not None:
                _call(host, schedule, dispatch, tuple(schedule.dims.values()), arrays, numbers, expected)
        for group in families(self.schedules).values():
            for blocks in (blocks for cut in cuts(group, self.accelerator) for blocks in cut):
                _call_by_blocks(host, blocks, self.accelerator, generator)
            if f"{group[0].family}_any.c" in self.files:
                _call_any_size(host, made(group[0], self.accelerator), self.accelerator, generator)
        for layer in layers(self.schedules):
            any_size = f"{layer.first.family}_any.c" in self.files
            _call_layer(host, layer, _sized(layer.first, any_size, self.accelerator, generator), generator)


def _apart(comparison: Comparison, seed: int) -> None:
    """Run the comparison in another process."""
    comparison.said.touch()
    executor = ProcessExecutor(1)
    try:
        executor.submit(Target(comparison), "run", seed).result()
    except executor.lost:
        said = comparison.said.read_text(encoding="utf-8", errors="replace").splitlines()
        reports = [line.replace(f"{comparison.library.parent}{os.sep}", "") for line in said if "runtime error" in line]
        shown = "\n".join(reports[:SHOWN_LINES]) or "the process that ran it has died"
        raise CandidateFailure(f"the exported C has undefined behaviour:\n{shown}") from None
    finally:
        executor.shutdown()


def _call_by_blocks(host: Host, blocks: Blocks, accelerator: Accelerator, generator: np.random.Generator) -> None:
    """The dispatch function for a size above the least that a kernel is for."""
    schedule = blocks.blocks[0].schedule
    size = blocks.least + int(generator.integers(1, blocks.blocks[0].size, endpoint=True))
    values = drawn_values(schedule.arguments, generator)
    workload = resized(schedule, accelerator, {**schedule.dims, blocks.dimension: size}, values)
    _call_trial(host, schedule.family, trial_of(workload, values, generator), {})


def _call_any_size(host: Host, kernel: AnySize, accelerator: Accelerator, generator: np.random.Generator) -> None:
    for _ in range(TRIALS):
        trial = draw(kernel, accelerator, generator)
        _call_trial(host, kernel.function, trial, dict(zip(kernel.strided, trial.strides, strict=True)))


def _sized(schedule: Schedule, any_size: bool, accelerator: Accelerator, generator: np.random.Generator) -> Workload:
    """A workload with sizes to try a family's functions with: small ones if it has a kernel of any size."""
    if any_size:
        return draw(made(schedule, accelerator), accelerator, generator).workload
    return resized(schedule, accelerator, schedule.dims)


def _call_layer(host: Host, layer: Layer, workload: Workload, generator: np.random.Generator) -> None:
    """The function for whole layers, with numbers that its kernels can have."""
    arrays = trial_of(workload, {}, generator).arrays
    numbers = Numbers.drawn(generator, workload.outputs[0].shape[-1], whole=layer.sums)
    memory = {name: array.copy() for name, array in arrays.items()}
    output = workload.outputs[0].name
    results = np.zeros(memory[output].shape, np.int8) if layer.sums else memory[output]
    given = [ctypes.c_void_p(results.ctypes.data)] if layer.sums else []
    structure = numbers.structure()
    result = host.call(
        layer.function,
        workload.tensors,
        memory,
        tuple(workload.dims.values()),
        others=[*given, ctypes.byref(structure)],
    )
    wrong = int(np.count_nonzero(results != numbers.expected(workload, arrays)))
    if result != 0 or wrong:
        raise CandidateFailure(f"{layer.function}() with {numbers} returns {result}, and {wrong} results are wrong")


def _call_trial(host: Host, function: str, trial: Trial, strides: Mapping[str, int]) -> None:
    memory = {name: array.copy() for name, array in trial.arrays.items()}
    sizes = tuple(trial.workload.dims.values())
    result = host.call(function, trial.tensors, memory, sizes, trial.values, strides)
    wrong = trial.wrong(memory)
    if result != 0 or wrong:
        given = (*sizes, *strides.values())
        raise CandidateFailure(f"{function}{given} returns {result}, and {wrong} elements are wrong")


def _call(
    host: Host,
    schedule: Schedule,
    function: str,
    sizes: tuple[int, ...],
    arrays: Mapping[str, npt.NDArray[Any]],
    numbers: tuple[float, ...],
    expected: Mapping[str, npt.NDArray[Any]],
) -> None:
    memory = {name: array.copy() for name, array in arrays.items()}
    result = host.call(function, schedule.tensors, memory, sizes, numbers)
    if sizes and result != 0:
        raise CandidateFailure(f"{function}{sizes} of {schedule.source} finds no kernel")
    for name, array in memory.items():
        if array.tobytes() != expected[name].tobytes():
            wrong = int(np.count_nonzero(array != expected[name]))
            raise CandidateFailure(
                f"{function}() of {schedule.source} computes something else in C than on the simulator: "
                f"{wrong} of {array.size} elements of {name} differ"
            )
