"""All files of an export, and the proof that they compute what the kernels compute."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from autocomp.errors import CandidateFailure
from autocomp.export.any_size import TRIALS, AnySize, draw, fallbacks
from autocomp.export.document import document
from autocomp.export.header import accelerator_header, recorder
from autocomp.export.host import Host, compile_library, run_on_simulator
from autocomp.export.schedule import Schedule, check_names
from autocomp.export.source import (
    DISPATCH,
    HEADER,
    any_size_source,
    dispatch_name,
    dispatch_source,
    kernel_source,
    kernels_header,
)
from autocomp.schedules.arguments import binary32, bound
from autocomp.targets.simulator.isa.model import Accelerator
from autocomp.workload import TensorSpec

DOCUMENT = "export.json"
HOST_FOLDER = "host"  # what stands in for the vendor's header and the hardware
RECORDER = "recorder.c"


def export_files(schedules: Sequence[Schedule], accelerator: Accelerator, vendor_header: str | None) -> dict[str, str]:
    """Texts by file name. `vendor_header` is what kernels include, as in `include/machine.h`; without one it is
    `machine.h`. Where the description has an encoding, the folder `host` holds a header of that name and a recorder.

    Raises ConfigError where two kernels have one name, KernelError for what C cannot say.
    """
    check_names(schedules)
    header = vendor_header or f"{accelerator.name}.h"
    files = {f"{s.function}.c": kernel_source(s, accelerator, header) for s in schedules}
    others = fallbacks(schedules, accelerator)
    files |= {
        f"{k.function}.c": any_size_source(k, accelerator, header) for k in others.values() if isinstance(k, AnySize)
    }
    files[HEADER] = kernels_header(schedules, others)
    files[DISPATCH] = dispatch_source(schedules, others)
    files[DOCUMENT] = document(schedules, others, accelerator, header).model_dump_json(indent=2) + "\n"
    if any(instruction.encoding for instruction in accelerator.instructions):
        files[f"{HOST_FOLDER}/{header}"] = accelerator_header(accelerator)
        files[f"{HOST_FOLDER}/{RECORDER}"] = recorder(accelerator)
    return files


def check_export(
    schedules: Sequence[Schedule], files: Mapping[str, str], accelerator: Accelerator, seed: int = 0
) -> None:
    """Compile the files for this computer, call every function and its dispatch on random tensors and arguments, and
    compare the memory with what the simulator makes of the kernel.

    Raises CandidateFailure where they differ, KernelError where the compiler or the simulator refuses, and IsaError
    where the description has no encoding.
    """
    accelerator_header(accelerator)  # without it there is nothing to compile against
    generator = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        library = folder / "kernels.so"
        compile_library(sorted(folder.rglob("*.c")), [folder, folder / HOST_FOLDER], library)
        host = Host(library, accelerator)
        for schedule in schedules:
            arrays = {t.name: _random(t, generator) for t in schedule.tensors}
            given = {name: binary32(generator.uniform(0.5, 2.0) * value) for name, value in schedule.arguments.items()}
            text = bound(schedule.kernel, schedule.arguments, given)
            expected = run_on_simulator(
                text, schedule.source, schedule.tensors, schedule.constants, accelerator, arrays
            )
            numbers = tuple(given.values())
            _call(host, schedule, schedule.function, (), arrays, numbers, expected)
            dispatch = dispatch_name(schedule)
            if dispatch is not None:
                _call(host, schedule, dispatch, tuple(schedule.dims.values()), arrays, numbers, expected)
        for kernel in fallbacks(schedules, accelerator).values():
            if isinstance(kernel, AnySize):
                _call_any_size(host, kernel, accelerator, generator)


def _call_any_size(host: Host, kernel: AnySize, accelerator: Accelerator, generator: np.random.Generator) -> None:
    for _ in range(TRIALS):
        trial = draw(kernel, accelerator, generator)
        memory = {name: array.copy() for name, array in trial.arrays.items()}
        strides = dict(zip(kernel.strided, trial.numbers[3:], strict=True))
        result = host.call(kernel.function, trial.tensors, memory, trial.numbers[:3], trial.values, strides)
        wrong = trial.wrong(memory)
        if result != 0 or wrong:
            raise CandidateFailure(f"{kernel.function}{trial.numbers} returns {result}, and {wrong} elements are wrong")


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


def _random(tensor: TensorSpec, generator: np.random.Generator) -> npt.NDArray[Any]:
    kind = np.dtype(tensor.dtype)
    if kind.kind == "f":
        return generator.standard_normal(tensor.shape).astype(kind)
    limits = np.iinfo(kind)
    low, high = max(limits.min, -1000), min(limits.max, 1000)
    return generator.integers(low, high, tensor.shape, kind, endpoint=True)
