"""A kernel under NVIDIA's compute-sanitizer, which sees what guards beside tensors do not: reads beyond a tensor, and
writes far from it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from autocomp.errors import ConfigError

TOOL = "compute-sanitizer"
FOUND = 86  # the exit code for an access that it found
SECONDS = 120.0
MODULE = "autocomp.targets.triton.worker.watched"
OPTIONS = ("--tool", "memcheck", "--error-exitcode", str(FOUND), "--print-limit", "1")
_ACCESS = re.compile(r"=+ (Invalid .+)\n=+ +at (\S+?)\+0x\w+(?: in \S*?:(\d+))?.*\n(?:=.*\n)*?=+ +and is (.+)\n")


def tool() -> str:
    """The program. Raises ConfigError where it is not installed."""
    path_of_tool = shutil.which(TOOL)
    if path_of_tool is None:
        raise ConfigError(
            f"{TOOL} is not on the PATH of the worker",
            hint="it is in the folder `bin` of NVIDIA's CUDA toolkit; leave `sanitize` out to judge without it",
        )
    return path_of_tool


def accesses(kernel: str, task: Mapping[str, Any], device: str, seed: int) -> str | None:
    """The first access of a kernel that belongs to no tensor, at the small size of its first test; None if all do."""
    request = json.dumps({"kernel": kernel, "task": dict(task), "device": device, "seed": seed})
    command = (tool(), *OPTIONS, sys.executable, "-m", MODULE)
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}  # else tensors lie in larger pieces of memory
    try:
        run = subprocess.run(
            command, input=request, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        return f"it did not end within {SECONDS:.0f} s under {TOOL}"
    return told(run.stdout, run.returncode)


def told(output: str, code: int) -> str | None:
    """The finding in the output of the tool."""
    if code == 0:
        return None
    match = _ACCESS.search(output)
    if match is None:
        last = [line for line in output.splitlines() if line.strip()][-3:]
        return f"{TOOL} ended with {code}: {' '.join(last)[:400]}"
    what, function, line, where = match.groups()
    return f"{what.lower()} in {function}{f', line {line}' if line else ''}, {where.rstrip('.')}"
