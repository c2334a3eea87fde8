"""A candidate process: imports one kernel module, runs it on shared memory when the referee says so, and ends.

It answers in JSON. It is a fork of a process that has imported torch and triton and has no CUDA context, so that a
fault of the kernel dies with it.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from multiprocessing.connection import Connection
from typing import Any

import torch
import triton

from autocomp.targets.triton.worker.guard import OnlyMemory, let_interpreter_pass
from autocomp.targets.triton.worker.isolation import isolate
from autocomp.targets.triton.worker.memory import TYPES, attach
from autocomp.targets.triton.worker.messages import Lost, receive, send

Tensors = Sequence[torch.Tensor]
LONGEST_MESSAGE = 4000  # characters of an error that go back


def main(connection: Connection, device: str, limits: dict[str, int]) -> None:
    """Serve one referee until it closes the connection."""
    silence()
    isolated = isolate(limits)
    server = _Server(device)
    send(connection, {"ready": True, "isolated": isolated})
    while True:
        try:
            request = receive(connection, None)
        except Lost:
            break
        try:
            send(connection, {"ok": True, **server.answer(request)})
        except Lost:
            break
        except BaseException as error:
            text = f"{type(error).__name__}: {error}"[:LONGEST_MESSAGE]
            send(connection, {"ok": False, "error": text, "kind": type(error).__name__})
    os._exit(0)  # a faulty context may hang when it is torn down


def silence() -> None:
    """Nothing that is printed here may reach the referee's standard output, which carries its protocol."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    if not os.environ.get("AUTOCOMP_WORKER_DEBUG"):
        os.dup2(null, 2)


class TextLoader(importlib.abc.ExecutionLoader):
    """Loads a module from its text alone, so that a process that is killed leaves no file.

    Triton asks `inspect` for the source of the module's functions, which asks the loader.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    def get_filename(self, fullname: str) -> str:
        return f"{fullname}/kernel.py"

    def get_source(self, fullname: str) -> str:
        return self._text


class _Server:
    def __init__(self, device: str) -> None:
        self._device = torch.device(device)
        self._solution: Callable[..., Any] | None = None
        self._watch: Callable[[], AbstractContextManager[Any]] = OnlyMemory
        self._sets: dict[str, Tensors] = {}
        if self._device.type == "cpu":
            let_interpreter_pass()
        else:
            torch.cuda.set_device(self._device)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        do = request["do"]
        if do == "load":
            self._load(request["kernel"])
            self._watch = nullcontext if request["computes"] else OnlyMemory
            return {}
        if do == "compile":
            return self._compile(request["tensors"])
        if do == "attach":
            self._sets = {name: [attach(handle) for handle in handles] for name, handles in request["sets"].items()}
            return {}
        if do == "run":
            return self._run(self._sets[request["set"]])
        if do == "time":
            from autocomp.targets.triton.worker.timing import time_kernel

            sets = [self._sets[name] for name in request["sets"]]
            log = self._sets["log"]
            self._prepare()
            return time_kernel(self._call, sets, log[0], log[1], request)
        raise ValueError(f"unknown request {do!r}")

    def _load(self, text: str) -> None:
        """Import the module."""
        loader = TextLoader(text)
        spec = importlib.util.spec_from_loader("autocomp_candidate", loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        loader.exec_module(module)
        self._solution = module.solution

    def _call(self, *tensors: torch.Tensor) -> None:
        if self._solution is None:
            raise RuntimeError("no kernel is loaded")
        with self._watch():
            self._solution(*tensors)

    def _compile(self, described: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Compile what a call with such tensors launches, without launching it."""
        # A host that computes may take elements for indices.
        allocate = torch.empty if self._watch is OnlyMemory else torch.zeros
        tensors = [allocate(t["shape"], dtype=TYPES[t["dtype"]], device=self._device) for t in described]
        compiled: list[Any] = []
        self._prepare()
        with compiling_only(compiled):
            self._call(*tensors)
        del tensors
        if self._device.type == "cuda":
            torch.cuda.empty_cache()  # the referee needs the memory
        return {"kernels": [_resources(kernel, self._device) for kernel in compiled if kernel is not None]}

    def _run(self, tensors: Tensors) -> dict[str, Any]:
        begun = time.perf_counter()
        self._prepare()
        self._call(*tensors)
        # The results are read on the current stream alone: work left on another one is not waited for.
        if self._device.type == "cuda":
            torch.cuda.current_stream().synchronize()
        return {"seconds": time.perf_counter() - begun}

    def _prepare(self) -> None:
        """Give descriptors that kernels make themselves memory to lie in."""
        if self._device.type == "cuda":
            triton.set_allocator(
                lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device=self._device)
            )


@contextmanager
def compiling_only(compiled: list[Any]) -> Iterator[None]:
    """While active, a launch compiles its kernel and does nothing else."""
    from triton.runtime.jit import JITFunction

    launch = JITFunction.run

    @functools.wraps(launch)
    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        kernel = launch(self, *args, grid=grid, warmup=True, **kwargs)
        compiled.append(kernel)
        return kernel

    JITFunction.run = compile_only
    try:
        yield
    finally:
        JITFunction.run = launch


def _resources(kernel: Any, device: torch.device) -> dict[str, Any]:
    """The resources of a multiprocessor that a compiled kernel needs. Registers are known once it is loaded."""
    metadata = kernel.metadata
    limit = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    resources = {"name": metadata.name, "shared": metadata.shared, "shared_limit": limit, "warps": metadata.num_warps}
    return resources | {"stages": getattr(metadata, "num_stages", 0)}
