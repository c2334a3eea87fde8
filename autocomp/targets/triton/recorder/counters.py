"""Hardware counters of a kernel's launches, by NVIDIA's Nsight Compute where it is installed and may read them."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from autocomp.targets.triton.worker.turns import Turns

TOOL = "ncu"
SECONDS = 200.0
MODULE = "autocomp.targets.triton.worker.watched"
OPTIONS = (  # the clock is left alone: its settings are the machine's
    *("--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none"),
    *("--profile-from-start", "off", "--target-processes", "all"),
)
METRICS = {
    "ns": "gpu__time_duration.sum",
    "read": "dram__bytes_read.sum",
    "written": "dram__bytes_write.sum",
    "bandwidth": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "cache_hits": "lts__t_sector_hit_rate.pct",
    "occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "tensor_cores": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
}
SHARES = ("bandwidth", "cache_hits", "occupancy", "tensor_cores")  # which the tool gives in percent
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
CAUSES: Mapping[str, Sequence[str]] = {  # the tool's reasons for which warps wait, by the causes of profiles
    "Load": ("long_scoreboard", "short_scoreboard", "mio_throttle", "lg_throttle", "tex_throttle"),
    "Compute": ("gmma", "math_pipe_throttle"),
    "Barrier": ("barrier", "membar", "sleeping"),
    "Memory": ("drain",),
    "Softmax": ("wait", "dispatch_stall", "branch_resolving", "no_instruction", "imc_miss", "misc"),
}


def counters(request: Mapping[str, Any]) -> dict[str, Any]:
    """The counters of each launch of a request's kernel at its own size, in their order; an `error` where the tool is
    missing, refused or failed."""
    tool = shutil.which(TOOL)
    if tool is None:
        return {"error": f"{TOOL} is not on the PATH of the worker"}
    metrics = [*METRICS.values(), *(STALL.format(reason) for reasons in CAUSES.values() for reason in reasons)]
    command = (tool, *OPTIONS, "--metrics", ",".join(metrics), sys.executable, "-m", MODULE)
    try:
        with Turns(str(request["device"])).alone():
            run = subprocess.run(
                command, input=json.dumps({**request, "own": True}), capture_output=True, text=True, timeout=SECONDS
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"error": f"{TOOL}: {error}"[:300]}
    return read(run.stdout)


def read(output: str) -> dict[str, Any]:
    """The counters in the output of the tool: a table with a row of names and a row of units."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if first is None:
        errors = [line for line in lines if line.startswith(("==ERROR==", "==WARNING=="))] or lines[-1:]
        return {"error": f"{TOOL}: {' '.join(errors)[:300]}"}
    names, _, *rows = csv.reader(io.StringIO("\n".join(lines[first:])))
    return {"launches": [_launch(dict(zip(names, row, strict=False))) for row in rows]}


def _launch(row: Mapping[str, str]) -> dict[str, Any]:
    launch: dict[str, Any] = {"name": row["Kernel Name"]}
    for word, metric in METRICS.items():
        launch[word] = _number(row.get(metric, "")) * (0.01 if word in SHARES else 1.0)
    waits = {
        cause: sum(_number(row.get(STALL.format(reason), "")) for reason in reasons)
        for cause, reasons in CAUSES.items()
    }
    total = sum(waits.values())
    launch["waits"] = {cause: wait / total for cause, wait in waits.items() if total}
    return launch


def _number(text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0
