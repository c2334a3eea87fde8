"""Run one kernel once, each tensor in memory of its own: the program that NVIDIA's tools watch.

`own` in the request takes the workload's own size, else the first size that it is tested at. The kernel is compiled by
a first run; profilers are told to begin before the second.
"""

from __future__ import annotations

import importlib.util
import json
import sys

import torch
import triton

from autocomp.targets.triton.language import check_module, parse
from autocomp.targets.triton.worker.candidate import TextLoader
from autocomp.targets.triton.worker.cases import Task, operands, smoke_cases
from autocomp.targets.triton.worker.custom import custom_operation
from autocomp.targets.triton.worker.draw import fill
from autocomp.targets.triton.worker.drawn import own_case
from autocomp.targets.triton.worker.isolation import isolate
from autocomp.targets.triton.worker.memory import TYPES

LIMITS = {"file_bytes": 256 << 20, "cpu_seconds": 600, "network": 0}


def main() -> None:
    request = json.loads(sys.stdin.read())
    task, device, seed = Task.of(request["task"]), str(request["device"]), int(request["seed"])
    check_module(parse(request["kernel"]), computes=task.host_computes)
    torch.cuda.set_device(torch.device(device))
    torch.zeros(1, device=device)  # makes the context, in which the tool reaches this process through the network
    isolate(LIMITS)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=device))
    case = own_case(task) if request.get("own") else smoke_cases(task, interpreted=False)[0]
    own = custom_operation(task.custom).draw(case.kind, seed, device) if task.custom else None
    generator = torch.Generator(device).manual_seed(seed)
    tensors = []
    for operand in operands(task, case):
        tensor = torch.empty(operand.shape, dtype=TYPES[operand.dtype], device=device)
        if operand.role == "input" and own is not None:
            tensor.copy_(own[operand.name])
        elif operand.role == "input":
            fill(tensor, operand, case.kind, generator)
        tensors.append(tensor)
    spec = importlib.util.spec_from_loader("autocomp_watched", TextLoader(request["kernel"]))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.solution(*tensors)
    torch.cuda.synchronize()
    if request.get("own"):
        torch.cuda.profiler.start()
        module.solution(*tensors)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
