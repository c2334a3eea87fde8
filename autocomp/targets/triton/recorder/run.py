"""Run a kernel on the device, plainly and with marks, and say what it needs and where its time goes."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import triton

from autocomp.errors import AutocompError
from autocomp.targets.triton.language import check_module, parse
from autocomp.targets.triton.recorder import marks as placing
from autocomp.targets.triton.recorder.counters import counters
from autocomp.targets.triton.recorder.loops import depth_of, work_of_loops
from autocomp.targets.triton.recorder.records import RECORD, Block, blocks_of, clock_of, rounds, stays, typical
from autocomp.targets.triton.residency import blocks_at_a_time, room_beside
from autocomp.targets.triton.worker.candidate import TextLoader
from autocomp.targets.triton.worker.cases import Case, Task, operands
from autocomp.targets.triton.worker.draw import fill
from autocomp.targets.triton.worker.isolation import isolate
from autocomp.targets.triton.worker.memory import TYPES
from autocomp.targets.triton.worker.turns import Turns

if TYPE_CHECKING:
    from triton.profiler.mode import Default

RUNS = 24
FLUSH_BYTES = 256 << 20
BLOCKS = 96  # whose records are read
ALL = ("Wait", "Product", "Load", "Store", placing.ARITHMETIC)
KEPT, FEWEST_KEPT = 256, 32  # records of a warp in a loop: the last ones. One thread writes them at a block's end
LEVELS = ((ALL, KEPT), (ALL, FEWEST_KEPT), (("Wait", "Product"), FEWEST_KEPT), (("Wait",), FEWEST_KEPT))
WELCOME_SLOWDOWN = 1.15  # above it fewer records are kept, then fewer marks are made
FEW = 200  # of the stays of one phase that go back, for the timeline
LIMITS = {"file_bytes": 256 << 20, "cpu_seconds": 600, "network": 0}


@dataclass
class Launch:
    """One launch of a kernel: the compiled kernel, its grid, and the microseconds of each run."""

    kernel: Any
    grid: tuple[int, ...]
    samples: list[float]

    @property
    def us(self) -> float:
        return statistics.median(self.samples)


def main() -> None:
    """Answer the request on standard input. Nothing else may write to standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.read())
    try:
        answer: dict[str, Any] = {"result": record(request)}
    except AutocompError as error:
        answer = {"error": {"kind": "config", "message": str(error)}}
    except Exception as error:
        answer = {"error": {"kind": "internal", "message": f"{type(error).__name__}: {error}"[:2000]}}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    os._exit(0)  # a faulty context may hang when it is torn down


def record(request: Mapping[str, Any]) -> dict[str, Any]:
    """The needs of a request's kernel, the time of each launch, and the times of the phases of its loops."""
    module = parse(request["kernel"])
    task = Task.of(request["task"])
    check_module(module, computes=task.host_computes)
    told = {"counters": counters(request)} if request.get("counters") else {}
    torch.cuda.set_device(torch.device(request["device"]))
    isolate(LIMITS)
    solution = _imported(request["kernel"])
    tensors = _drawn(task, int(request["seed"]))
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    call = functools.partial(solution, *tensors)
    (plain,) = timed(call, Variant())
    empty_us, cost = cost_of_a_record()
    return {
        "launches": [_launch(launch) for launch in plain],
        "marked": [_marked(call, plain, position, cost) for position in range(len(plain))],
        "record_cycles": cost,
        "empty_us": empty_us,
        "multiprocessors": torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count,
        "clock_mhz": _clock(),
        **told,
    }


def _imported(text: str, name: str = "autocomp_recorded") -> Callable[..., Any]:
    """The kernel of a module. Modules of one name would be taken for each other: Triton reads their text again."""
    loader = TextLoader(text)
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    loader.exec_module(module)
    solution: Callable[..., Any] = module.solution
    return solution


def _drawn(task: Task, seed: int) -> list[torch.Tensor]:
    generator = torch.Generator("cuda").manual_seed(seed)
    tensors = []
    for operand in operands(task, Case(task.dims, task.dtype, "random")):
        tensor = torch.empty(operand.shape, dtype=TYPES[operand.dtype], device="cuda")
        if operand.role == "input":
            fill(tensor, operand, "random", generator)
        tensors.append(tensor)
    return tensors


@dataclass(frozen=True)
class Variant:
    """A way to run a call: options added to launches, by their position, `within` a context."""

    options: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    within: Callable[[], AbstractContextManager[object]] = nullcontext


def timed(call: Callable[[], Any], *variants: Variant) -> list[list[Launch]]:
    """For each variant, the microseconds of each launch of a call, in its order, with the cache cleared. Variants take
    turns: the clock of a busy device is not the same for long."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    launches_of: list[list[Launch]] = [[] for _ in variants]
    for variant in variants:
        with variant.within(), launches([], variant.options):
            call()  # compiles
    with Turns(f"cuda:{torch.cuda.current_device()}").alone():
        for run in range(RUNS + 2):
            for variant, told in zip(variants, launches_of, strict=True):
                events: list[tuple[Any, Any, Any, Any]] = []
                with variant.within():
                    flush.zero_()
                    torch.cuda._sleep(2_000_000)
                    with launches(events, variant.options):
                        call()
                    torch.cuda.synchronize()
                for position, (kernel, grid, start, end) in enumerate(events):
                    if run == 0:
                        told.append(Launch(kernel, grid, []))
                    elif run > 1:
                        told[position].samples.append(start.elapsed_time(end) * 1e3)
    return launches_of


@contextmanager
def launches(events: list[tuple[Any, Any, Any, Any]], options: Mapping[int, Mapping[str, Any]]) -> Iterator[None]:
    """While active, each launch is timed by events of its own."""
    from triton.runtime.jit import JITFunction

    original = JITFunction.run

    @functools.wraps(original)
    def observed(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        kernel = original(self, *args, grid=grid, warmup=warmup, **kwargs, **options.get(len(events), {}))
        end.record()
        shape = grid(kwargs) if callable(grid) else grid
        events.append((kernel, tuple(int(extent) for extent in shape), start, end))
        return kernel

    JITFunction.run = observed
    try:
        yield
    finally:
        JITFunction.run = original


@contextmanager
def recording(buffers: list[torch.Tensor], mode: Default) -> Iterator[None]:
    """While active, kernels are compiled with their marks, and their records kept."""
    from triton.profiler.hooks.instrumentation import InstrumentationHook
    from triton.runtime._allocation import set_profile_allocator

    hook = InstrumentationHook(mode)
    hook.activate()

    def allocate(size: int, alignment: int, stream: int | None) -> torch.Tensor:
        """The same memory for every run: allocating takes longer than some kernels."""
        if not buffers or buffers[-1].numel() != size:
            buffers.append(torch.zeros(size, dtype=torch.uint8, device="cuda"))
        return buffers[-1]

    set_profile_allocator(allocate)
    try:
        yield
    finally:
        hook.deactivate()


def _launch(launch: Launch) -> dict[str, Any]:
    metadata = launch.kernel.metadata
    return {
        "name": metadata.name,
        "grid": list(launch.grid),
        "us": launch.us,
        "stages": getattr(metadata, "num_stages", 0),
        "spilled": launch.kernel.n_spills,
        "at_a_time": blocks_at_a_time(_needs(launch), _shared_of_multiprocessor())[0],
        "loops": work_of_loops(launch.kernel.asm["ttgir"]),
        "depth": depth_of(launch.kernel.asm["ttgir"]),
        **_needs(launch),
    }


def _needs(launch: Launch) -> dict[str, int]:
    """The resources of a multiprocessor that a block needs."""
    metadata = launch.kernel.metadata
    return {"warps": metadata.num_warps, "registers": launch.kernel.n_regs, "shared": metadata.shared}


def _shared_of_multiprocessor() -> int:
    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).shared_memory_per_multiprocessor)


def _marked(call: Callable[[], Any], plain: Sequence[Launch], position: int, cost: float) -> dict[str, Any]:
    """One launch with marks, or with fewer if many slow it down too much. Without any records, the reason."""
    launch, tried = plain[position], []
    best: dict[str, Any] = {"error": "there is nothing to mark: neither loops nor loads"}
    for kinds, kept in LEVELS:
        marked = placing.place(launch.kernel.asm["ttgir"], kinds)
        if not marked.marks:
            break
        try:
            recorded = _recorded(call, launch, position, Marking(marked, kept), cost)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:600]}
        tried.append({"marks": len(marked.marks), "kept": kept, "slowdown": recorded["slowdown"]})
        if "error" in best or recorded["slowdown"] < best["slowdown"]:
            best = {**recorded, "kinds": list(kinds)}
        if recorded["slowdown"] <= WELCOME_SLOWDOWN:
            break
    return {**best, "tried": tried}


@dataclass(frozen=True)
class Marking:
    """Marks, and the number of records that are kept of each warp in a loop."""

    marked: placing.Marked
    kept: int = KEPT


def _recorded(call: Callable[[], Any], launch: Launch, position: int, marking: Marking, cost: float) -> dict[str, Any]:
    buffers: list[torch.Tensor] = []
    marked, mode = marking.marked, _place_of_records(launch, marking)
    with tempfile.TemporaryDirectory(prefix="autocomp-marked-") as folder:
        path = Path(folder, "marked.ttgir")
        path.write_text(marked.text, encoding="utf-8")
        marks = Variant({position: {"ir_override": str(path)}}, lambda: recording(buffers, mode))
        before, after = timed(call, Variant(), marks)
    again = after[position]
    kernel, warps = again.kernel, again.kernel.metadata.num_warps
    data = bytes(buffers[-1].cpu().numpy().tobytes())
    size = kernel.metadata.profile_scratch_size
    count = len(data) // size
    step = max(1, count // BLOCKS)
    chosen: list[Block] = []
    for number in range(0, count, step):
        chosen += blocks_of(data[number * size : (number + 1) * size], size, warps)
    if not chosen:
        raise RuntimeError("no block of the launch left records")
    scopes = _scopes(kernel.asm["ttgir"])
    stays_by_mark = stays(chosen, marked.marks, scopes, cost)
    return {
        "slowdown": again.us / before[position].us,
        "us": again.us,
        "plain_us": before[position].us,
        "buffer": size,
        "registers": again.kernel.n_regs,
        "spilled": again.kernel.n_spills,
        "shared": again.kernel.metadata.shared,
        "blocks": len(chosen),
        "records": sum(len(warp.records) for block in chosen for warp in block.warps),
        "made": sum(len(warp.records) + warp.lost for block in chosen for warp in block.warps),
        "lost": sum(warp.lost for block in chosen for warp in block.warps),
        "at_a_time": blocks_at_a_time(_needs(again), _shared_of_multiprocessor())[0],
        "clock_ghz": clock_of(chosen),
        "processors": sorted({block.processor for block in chosen}),
        "most": max(len(warp.records) + warp.lost for block in chosen for warp in block.warps),
        "longest_ns": max(block.ended - block.begun for block in chosen),
        "block_ns": typical([block.ended - block.begun for block in chosen]),
        "rounds": {str(k): [typical(v), len(v)] for k, v in rounds(chosen, marked.marks, scopes).items()},
        "stays": [
            {"mark": asdict(s.mark), "cycles": typical(s.cycles), "visits": len(s.cycles)} for s in stays_by_mark
        ],
        "trail": _trail(chosen, scopes),
        "marks": [asdict(mark) for mark in marked.marks],
    }


def _place_of_records(launch: Launch, marking: Marking) -> Default:
    """Where a block keeps its records: in shared memory if as many blocks as before fit beside it, else in global
    memory. No more than a block makes, or than are kept of each warp, since all of it is written at the block's end."""
    from triton.profiler.mode import Default

    warps = _needs(launch)["warps"]
    marks = marking.marked.marks
    looped = any(mark.loop >= 0 for mark in marks)
    wanted = RECORD.size * warps * (marking.kept if looped else 1 << len(marks).bit_length())
    room = min(room_beside(_needs(launch), _shared_of_multiprocessor()), wanted)
    return Default(buffer_size=room or wanted, buffer_type="shared" if room else "global")


def _scopes(ttgir: str) -> dict[int, int]:
    """The number of the mark that each scope starts at: scopes are numbered in the order of their first records."""
    names = dict.fromkeys(re.findall(r'proton\.record start "m(\d+)"', ttgir))
    return {position: int(name) for position, name in enumerate(names)}


def _trail(blocks: Sequence[Block], scopes: Mapping[int, int]) -> list[dict[str, Any]]:
    """The records of a few warps, for a timeline."""
    trail = []
    for block in blocks[len(blocks) // 2 :][:2]:
        for number, warp in enumerate(block.warps):
            records = [[scopes[s] + end, clock] for s, end, clock in warp.records if s in scopes][-FEW:]
            trail.append({"block": block.number, "processor": block.processor, "warp": number, "records": records})
    return trail


PROBE = """
import triton
import triton.language as tl


@triton.jit
def probe_kernel(y_ptr):
    tl.store(y_ptr + tl.program_id(0), 1.0)


def solution(y):
    probe_kernel[(132,)](y)
"""


def cost_of_a_record() -> tuple[float, float]:
    """Microseconds of a launch that does nothing, and cycles from one record to the next where nothing lies between
    them, as this device takes them."""
    call = functools.partial(_imported(PROBE, "autocomp_probe"), torch.zeros(132, device="cuda"))
    ((launch,),) = timed(call, Variant())
    lines = launch.kernel.asm["ttgir"].splitlines()
    at = next(i for i, line in enumerate(lines) if line.lstrip().startswith("tt.return"))
    pairs = [f'proton.record {end} "m{2 * i}"' for i in range(16) for end in ("start", "end")]
    marks = tuple(placing.Mark(i, "Empty" if i < 31 else "", 0, -1) for i in range(32))
    text = "\n".join((*lines[:at], *pairs, *lines[at:])) + "\n"
    recorded = _recorded(call, launch, 0, Marking(placing.Marked(text, marks)), 0.0)
    return launch.us, float(statistics.median(stay["cycles"] for stay in recorded["stays"]))


def _clock() -> float:
    try:
        return float(torch.cuda.clock_rate())
    except (RuntimeError, ModuleNotFoundError, AssertionError):
        return 0.0
