"""Timing a kernel with events on the device: cache cleared, outputs poisoned, every run's result sampled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from autocomp.targets.triton.worker.statistics import stable, summarise

FLUSH_BYTES = 256 << 20  # more than twice the second-level cache of any device so far
BATCH = 5  # runs between two looks at the clock
WARM_WITHIN = 0.02  # two batches that differ by less are stable
WARM_BATCHES = 12
AHEAD = 2.0  # the device waits for this multiple of the host's time to launch, so that launching does not count
LAUNCHES = 3  # of which the longest is taken
LONGEST_LAUNCH = 2e-3  # seconds; what takes longer to launch is timed with its launches
POISON = float("nan")

Tensors = Sequence[torch.Tensor]


def time_kernel(
    call: Callable[..., None],
    sets: Sequence[Tensors],
    positions: torch.Tensor,
    log: torch.Tensor,
    request: dict[str, Any],
) -> dict[str, Any]:
    """Times of single runs in microseconds. Row i of `log` gets the elements of run i's first output at `positions`."""
    outputs = int(request["outputs"])
    limit = min(int(request["repeats"]), len(log))
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=log.device)
    clock = Clock(call, outputs, flush)
    warm = 0
    if request.get("unseen", False):
        clock.launch_seconds = LONGEST_LAUNCH  # to measure it, the kernel would have to see the inputs
    elif request.get("warm", True):
        warm = clock.warm_up(sets)
    else:
        clock.watch_launches(sets[0])
    samples: list[float] = []
    ends = time.perf_counter() + float(request["seconds"])
    while len(samples) < limit:
        runs = range(len(samples), min(limit, len(samples) + BATCH))
        samples += clock.batch([sets[run % len(sets)] for run in runs], positions, log[runs.start : runs.stop])
        enough = len(samples) >= int(request["fewest"])
        if enough and (time.perf_counter() > ends or _precise(samples, float(request["precision"]))):
            break
    return {"samples": samples, "warm_batches": warm, "launch_us": clock.launch_seconds * 1e6}


def _precise(samples: Sequence[float], share: float) -> bool:
    summary = summarise(samples)
    return summary.spread <= share * summary.median


class Clock:
    def __init__(self, call: Callable[..., None], outputs: int, flush: torch.Tensor) -> None:
        self._call = call
        self._outputs = outputs
        self._flush = flush
        self.launch_seconds = 0.0

    def warm_up(self, sets: Sequence[Tensors]) -> int:
        """Run until two batches take the same time; how many it took."""
        medians: list[float] = []
        self._call(*sets[0])
        torch.cuda.synchronize()
        while len(medians) < WARM_BATCHES and not stable(medians, WARM_WITHIN):
            self.watch_launches(sets[0])
            medians.append(summarise(self.batch([sets[0]] * BATCH, None, None)).median)
        return len(medians)

    def watch_launches(self, tensors: Sequence[torch.Tensor]) -> None:
        """Measure the host's time for a launch, the longest of a few: other processes may be busy beside it."""
        longest = 0.0
        for _ in range(LAUNCHES):
            begun = time.perf_counter()
            self._call(*tensors)
            longest = max(longest, time.perf_counter() - begun)
            torch.cuda.synchronize()
        self.launch_seconds = min(longest, LONGEST_LAUNCH)

    def batch(self, runs: Sequence[Tensors], positions: torch.Tensor | None, log: torch.Tensor | None) -> list[float]:
        """One time for each set of tensors, in microseconds. The device is kept busy in front of each run for longer
        than the host needs to launch it."""
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in runs]
        cycles = int(AHEAD * self.launch_seconds * 2e9)
        for run, (tensors, (start, end)) in enumerate(zip(runs, events, strict=True)):
            for output in tensors[len(tensors) - self._outputs :]:
                poison(output)
            self._flush.zero_()
            torch.cuda._sleep(cycles)
            start.record()
            self._call(*tensors)
            end.record()
            if log is not None and positions is not None:
                log[run].copy_(tensors[-self._outputs].view(-1)[positions])
        torch.cuda.synchronize()
        return [start.elapsed_time(end) * 1e3 for start, end in events]


def poison(output: torch.Tensor) -> None:
    """Contents of an output before a run: NaN, or all bits set where the type has none."""
    if output.dtype.is_floating_point and output.element_size() > 1:
        output.fill_(POISON)
    else:
        output.view(torch.uint8).fill_(0xFF)


def device_state() -> Mapping[str, float]:
    """Clock in MHz, temperature in degrees and power in watts, as far as the system tells."""
    state: dict[str, float] = {}
    for name, read, factor in (
        ("clock_mhz", torch.cuda.clock_rate, 1.0),
        ("temperature_c", torch.cuda.temperature, 1.0),
        ("power_w", torch.cuda.power_draw, 1e-3),
    ):
        try:
            state[name] = float(read()) * factor
        except (RuntimeError, ModuleNotFoundError, AssertionError):
            continue
    return state
