"""All columns of a row in one process, in turns, with the same clock and the same inputs."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import torch
import triton

from autocomp.targets.triton.evaluator import task_of
from autocomp.targets.triton.worker.cases import Case, Task, operands
from autocomp.targets.triton.worker.compare import difference
from autocomp.targets.triton.worker.draw import exact, fill
from autocomp.targets.triton.worker.memory import TYPES
from autocomp.targets.triton.worker.probe import describe
from autocomp.targets.triton.worker.statistics import summarise
from autocomp.targets.triton.worker.timing import Clock, device_state
from autocomp.targets.triton.worker.turns import Turns
from autocomp.workload.tensor import operation
from benchmarks.gpu.baselines import autokernel, eager, fused
from benchmarks.gpu.rows import ROWS, Row, row

ROUNDS, RUNS = 8, 8  # turns of each column, and runs in a turn
OURS = "ours"
UNCOMPILED = ("scaled_matmul",)  # the public task compares with its reference and the library's operator alone


def measure_all(
    folder: Path, names: Sequence[str], checkout: Path | None, at_once: int, seconds: float, targets: Sequence[str]
) -> None:
    """Every row in a process of its own: they compile beside each other and are timed one after the other."""
    rows = [known for known in ROWS if not names or known.name in names or known.operation in names]
    chosen = [known.name for known in sorted(rows, key=lambda known: known.operation not in UNCOMPILED)]
    running: list[subprocess.Popen[bytes]] = []
    ends = time.monotonic() + seconds
    while (chosen or running) and time.monotonic() < ends:
        while chosen and len(running) < at_once:
            name = chosen.pop(0)
            command = [sys.executable, "-m", "benchmarks.gpu", "row", name, "--out", str(folder)]
            command += ["--autokernel", str(checkout)] if checkout else []
            command += ["--target", targets[len(chosen) % len(targets)]]
            log = (folder / f"{name}.row.log").open("wb")
            running.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True))
        running = [process for process in running if process.poll() is None]
        time.sleep(0.2)
    for process in running:
        os.killpg(process.pid, 9)


def measure_row(name: str, folder: Path, checkout: Path | None, target: str = "triton") -> None:
    """Measure one row; the result goes into the folder."""
    known = row(name)
    device = target.partition(":")[2] or "cuda:0"
    torch.cuda.set_device(device)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))
    document: dict[str, Any] = {"row": name, "columns": {}, "errors": {}}
    task = Task.of(task_of(known.workload()))
    sets = [_draw(task, known, seed) for seed in (1, 2)]
    columns: dict[str, Callable[..., Any]] = {}
    for column, make in _columns(known, folder, checkout).items():
        try:
            call = make()
            if call is None:
                continue
            with Turns(device).alone():
                fault = _fault(task, known, call, sets[0])
            columns[column] = call
            if fault:
                document["errors"][column] = fault
        except Exception as error:
            document["errors"][column] = f"{type(error).__name__}: {error}"[:300]
    with Turns(device).alone():
        samples = _interleaved(columns, sets, known)
        document["state"] = device_state()
    for column, values in samples.items():
        summary = summarise(values)
        document["columns"][column] = {"us": summary.median, "spread": summary.spread, "runs": len(values)}
    document["device"], document["when"] = describe(device), datetime.now().astimezone().isoformat(timespec="seconds")
    (folder / f"{name}.row.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def _columns(known: Row, folder: Path, checkout: Path | None) -> dict[str, Callable[[], Callable[..., Any] | None]]:
    """The functions that make each column's call; a call gets the inputs, or inputs and outputs for ours."""
    plain = eager(known.operation)
    compiled: dict[str, Callable[[], Callable[..., Any] | None]] = {
        "compile": lambda: torch.compile(plain),
        "compile max": lambda: torch.compile(plain, mode="max-autotune-no-cudagraphs"),
    }
    return {
        "eager": lambda: plain,
        "fused": lambda: fused(known.operation),
        **(compiled if known.operation not in UNCOMPILED else {}),
        "AutoKernel": lambda: autokernel(checkout, known.operation),
        OURS: lambda: _ours(folder / f"{known.name}.py"),
    }


def _ours(path: Path) -> Callable[..., Any] | None:
    if not path.is_file():
        return None
    spec = importlib.util.spec_from_file_location("ours", path)
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ours"] = module
    spec.loader.exec_module(module)
    solution: Callable[..., Any] = module.solution
    return lambda *tensors: solution(*tensors)


Drawn = tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]


def _draw(task: Task, known: Row, seed: int) -> Drawn:
    """Inputs and outputs by name."""
    generator = torch.Generator("cuda").manual_seed(seed)
    given, results = {}, {}
    for operand in operands(task, Case(known.dims, known.dtype, "random")):
        tensor = torch.empty(operand.shape, dtype=TYPES[operand.dtype], device="cuda")
        if operand.role == "input":
            fill(tensor, operand, "random", generator)
            given[operand.name] = tensor
        else:
            results[operand.name] = tensor
    return given, results


def _fault(task: Task, known: Row, call: Callable[..., Any], drawn: Drawn) -> str | None:
    """By how much a column's result is wrong; None if it is right. The first call compiles."""
    given, results = drawn
    name, tensor = next(iter(results.items()))
    returned = call(*given.values(), *(results.values() if call.__name__ == "<lambda>" and _is_ours(call) else ()))
    torch.cuda.synchronize()
    got = tensor if returned is None else returned
    inputs = {key: exact(value) for key, value in given.items()}
    expected = operation(known.operation).expected(torch, inputs, known.dims, known.dtype, task.options)[name]
    dtype = next(o.dtype for o in operands(task, Case(known.dims, known.dtype, "random")) if o.role == "output")
    return difference(torch, got.reshape(tensor.shape).to(torch.float64), expected, dtype)


def _is_ours(call: Callable[..., Any]) -> bool:
    return call.__qualname__.startswith("_ours")


def _interleaved(columns: dict[str, Callable[..., Any]], sets: Sequence[Drawn], known: Row) -> dict[str, list[float]]:
    """Samples of each column in microseconds, taken in turns."""
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    clocks, tensors = {}, {}
    for column, call in columns.items():
        ours = _is_ours(call)
        outputs = len(sets[0][1]) if ours else 0
        clocks[column] = Clock(call, outputs, flush)
        tensors[column] = [[*given.values(), *(results.values() if ours else ())] for given, results in sets]
        clocks[column].warm_up(tensors[column])
    samples: dict[str, list[float]] = {column: [] for column in columns}
    for _ in range(ROUNDS):
        for column, clock in clocks.items():
            runs = [tensors[column][i % len(sets)] for i in range(RUNS)]
            samples[column] += clock.batch(runs, None, None)
    return samples
