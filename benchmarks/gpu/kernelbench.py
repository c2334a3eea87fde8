"""KernelBench's problems: the rules' first kernels for each, the best beside PyTorch, eager and compiled, and fast_p.

A kernel counts if it passed every stage of our judge and the check of the benchmark. That check takes five draws of
the inputs, and asks for results within 1e-4 of the module's own. `fast_p` is the share of all problems whose kernel
counts and is more than p times as fast as the baseline.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from autocomp import load_workload
from autocomp.errors import NotApplicable
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.targets.triton.evaluator import task_of
from autocomp.targets.triton.worker.compare import PART
from autocomp.workload import Workload

TRIALS = 5
TOLERANCE = 1e-4  # absolute and relative, of the benchmark for float32
SHARES = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
ROUNDS = 3  # in which all are measured, one after the other
WARM_MS, TIMED_MS = 8, 25


def count_starts(level: str, numbers: Sequence[str]) -> None:
    """Print for which problems a starting kernel is generated. Needs no GPU."""
    target = load_target("triton:cpu")
    started = 0
    for number in numbers:
        try:
            workload = load_workload(f"kernelbench:{level}/{number}", trust=True)
            target.starting_kernel(workload)
        except Exception as error:
            print(f"{level}/{number}: {str(error).splitlines()[0]}")
            continue
        started += 1
    print(f"{level}: a starting kernel for {started} of {len(numbers)} problems")


def run_all(folder: Path, level: str, numbers: Sequence[str], evaluations: int, seconds: float, at_once: int) -> None:
    """Each problem in a process of its own, as many as the time allows."""
    waiting, running = list(numbers), dict[str, subprocess.Popen[bytes]]()
    ends = time.monotonic() + seconds
    while waiting or running:
        over = time.monotonic() > ends
        while waiting and len(running) < at_once and not over:
            number = waiting.pop(0)
            command = [sys.executable, "-m", "benchmarks.gpu", "problem", f"{level}/{number}", "--out", str(folder)]
            command += ["--evaluations", str(evaluations)]
            log = (folder / f"{level}_{number}.log").open("wb")
            running[number] = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        for number, process in list(running.items()):
            if over:
                process.kill()
            if process.poll() is not None:
                del running[number]
        if over:
            break
        time.sleep(0.2)
    print(table(folder, level, len(numbers)))
    if waiting or running:
        print(f"the time ended before: {', '.join(sorted([*running, *waiting], key=int))}")


def run_problem(folder: Path, problem: str, evaluations: int) -> None:
    """Search for one problem and measure; what came of it goes into the folder."""
    file = folder / f"{problem.replace('/', '_')}.kb.json"
    document: dict[str, Any] = {"problem": problem, "stage": "start"}
    try:
        _measured(problem, folder, evaluations, document)
    except Exception as error:
        document["error"] = f"{type(error).__name__}: {str(error)[:400]}"
    file.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _measured(problem: str, folder: Path, candidates: int, document: dict[str, Any]) -> None:
    """The starting kernel and the first rewrites that the rules offer for it: the fastest that passes all stages."""
    from autocomp.targets.triton.worker.cases import Task, bytes_of
    from autocomp.targets.triton.worker.drawn import own_case
    from autocomp.targets.triton.worker.turns import Turns

    stated = load_workload(f"kernelbench:{problem}", trust=True)
    reference, names = str(stated.reference_text), [tensor.name for tensor in stated.inputs]
    target = load_target("triton")
    task = Task.of(task_of(stated))
    room = sum(bytes_of(task, own_case(task)))  # no less than for a judgement
    document["stage"] = "search"
    file = folder / f"{problem.replace('/', '_')}.py"
    for workload in _precisions(stated):
        start = target.starting_kernel(workload)
        judge = target.evaluator(workload)
        kernels = list(dict.fromkeys([start, *_rewritten(target, start, workload)]))[:candidates]
        with Turns("cuda:0").room(room):
            ranked = _ranked(reference, kernels, file, names)
        document.setdefault("tried_us", []).append([value for value, _ in ranked])
        for _, kernel in ranked:
            judged = judge.evaluate(kernel)
            if not judged.correct or judged.value is None:
                document.setdefault("refused", []).append(str(judged.failure)[:300])
                continue
            file.write_text(kernel, encoding="utf-8")
            with Turns("cuda:0").room(room):
                document["trials"] = _trials(reference, file, names)
                if document["trials"] < TRIALS:
                    document.setdefault("refused", []).append(f"{document['trials']} of {TRIALS} trials passed")
                    break
                document |= {"judged_us": judged.value, "stage": "beside"}
                document |= _beside(reference, file, names)
            document["stage"] = "done"
            return


def _precisions(workload: Workload) -> list[Workload]:
    """The workload, and one with convolutions in float32 where it allows less: PyTorch rounds some alone."""
    exact = {key: value for key, value in workload.options.items() if key != "convolutions"}
    return [workload, *([replace(workload, options=exact)] if exact != dict(workload.options) else [])]


def _rewritten(target: Target, start: str, workload: Workload) -> Iterator[str]:
    """Kernels by the rules' sequences of rewrites, the most promising first."""
    for proposal in target.transformations.proposals("sequence", start, workload):
        try:
            yield target.transformations.apply("sequence", start, workload, proposal.parameters)
        except NotApplicable:
            continue


def _loaded(reference: str, kernel: Path) -> tuple[dict[str, Any], Any]:
    """The names of a reference's text, and a kernel as a module."""
    module: dict[str, Any] = {}
    exec(compile(reference, "reference.py", "exec"), module)
    spec = importlib.util.spec_from_file_location("kernel", kernel)
    assert spec is not None
    assert spec.loader is not None
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)
    return module, ours


def _drawn(module: Mapping[str, Any], model: Any, buffers: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """Inputs as the model takes them, and as a kernel does."""
    import torch

    inputs = [one.cuda() if isinstance(one, torch.Tensor) else one for one in module["get_inputs"]()]
    tensors = [_shared(one) for one in inputs if isinstance(one, torch.Tensor)]
    own = [_shared(buffer) for name, buffer in model.named_buffers() if name.replace(".", "_") in buffers]
    return inputs, tensors + [parameter.detach() for parameter in model.parameters()] + own


def _trials(reference: str, kernel: Path, names: Sequence[str]) -> int:
    """The number of the benchmark's trials that a kernel passes. They run PyTorch with its defaults."""
    import torch

    from autocomp.targets.triton.worker.turns import Turns

    module, ours = _loaded(reference, kernel)
    passed = 0
    with torch.device("cuda"), torch.no_grad():
        model = module["Model"](*module["get_init_inputs"]()).cuda()
        for trial in range(TRIALS):
            torch.manual_seed(trial)
            inputs = expected = out = tensors = None  # before others take their place
            with Turns("cuda:0").alone():
                inputs, tensors = _drawn(module, model, names)
                expected = model(*inputs)
                out = torch.full_like(expected, -1.0)
                ours.solution(*tensors, out)
                passed += _equal(out, expected)
                torch.cuda.synchronize()
    del inputs, expected, out, tensors, model
    torch.cuda.empty_cache()
    return passed


def _ranked(reference: str, kernels: Sequence[str], file: Path, names: Sequence[str]) -> list[tuple[float, str]]:
    """Kernels with their times in microseconds, the fastest first. One that cannot be launched is left out."""
    import torch

    from autocomp.targets.triton.worker.turns import Turns

    times = []
    with torch.device("cuda"), torch.no_grad():
        file.write_text(kernels[0], encoding="utf-8")
        module, _ = _loaded(reference, file)
        model = module["Model"](*module["get_init_inputs"]()).cuda()
        inputs, tensors = _drawn(module, model, names)
        out = torch.full_like(model(*inputs), -1.0)
        for kernel in kernels:
            file.write_text(kernel, encoding="utf-8")
            _, ours = _loaded(reference, file)
            try:
                action = functools.partial(ours.solution, *tensors, out)
                action()
                with Turns("cuda:0").alone():
                    times.append((_timed(action), kernel))
            except Exception as error:
                print(f"not launched: {type(error).__name__}: {error}")
    del inputs, tensors, out, model
    torch.cuda.empty_cache()
    return sorted(times)


def _timed(action: Callable[[], Any]) -> float:
    """The median time of an action in microseconds."""
    import triton

    return 1000.0 * float(triton.testing.do_bench(action, warmup=WARM_MS, rep=TIMED_MS, return_mode="median"))


def _beside(reference: str, kernel: Path, names: Sequence[str]) -> dict[str, Any]:
    """A kernel's time beside the module's, eager and compiled, in one process."""
    import torch

    from autocomp.targets.triton.worker.turns import Turns

    module, ours = _loaded(reference, kernel)
    with torch.device("cuda"), torch.no_grad():
        torch.manual_seed(0)
        model = module["Model"](*module["get_init_inputs"]()).cuda()
        inputs, tensors = _drawn(module, model, names)
        out = torch.full_like(model(*inputs), -1.0)
        compiled = torch.compile(model)
        compiled(*inputs)

        contenders: dict[str, Callable[[], Any]] = {
            "eager_us": lambda: model(*inputs),
            "compile_us": lambda: compiled(*inputs),
            "ours_us": lambda: ours.solution(*tensors, out),
        }
        with Turns("cuda:0").alone():
            rounds = [{name: _timed(action) for name, action in contenders.items()} for _ in range(ROUNDS)]
            torch.backends.cudnn.allow_tf32 = False
            exact = _timed(contenders["eager_us"])
        medians = {name: statistics.median(times[name] for times in rounds) for name in contenders}
        return {**medians, "float32_us": exact, "rounds": rounds}


def _equal(out: Any, expected: Any) -> bool:
    """The benchmark's comparison, part by part: large tensors would take three times their memory."""
    import torch

    parts = zip(out.reshape(-1).split(PART), expected.reshape(-1).split(PART), strict=True)
    return all(torch.allclose(ours, right, atol=TOLERANCE, rtol=TOLERANCE) for ours, right in parts)


def _shared(tensor: Any) -> Any:
    """An input as a kernel gets it: truth values as bytes."""
    import torch

    return tensor.to(torch.uint8) if tensor.dtype == torch.bool else tensor


def table(folder: Path, level: str, asked: int) -> str:
    """The problems that were run, and fast_p over all that were `asked` for: those that did not end count as slow."""
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob(f"{level}_*.kb.json")]
    documents.sort(key=lambda document: int(document["problem"].split("/")[1]))
    lines = ["| problem | eager us | compile us | ours us | trials |", "|---|---:|---:|---:|---:|"]
    for one in documents:
        if one["stage"] == "done":
            times = " | ".join(f"{one[key]:.1f}" for key in ("eager_us", "compile_us", "ours_us"))
            lines.append(f"| {one['problem']} | {times} | {one['trials']} of {TRIALS} |")
        else:
            lines.append(f"| {one['problem']} | {one['stage']}: {one.get('error', '')[:120]} | | | |")
    for baseline in ("eager_us", "compile_us"):
        shares = [f"fast_{p:g} {fast_p(documents, p, baseline, asked):.2f}" for p in SHARES]
        lines.append(f"{baseline.split('_')[0]}: {', '.join(shares)} of {asked} problems, {len(documents)} were run")
    return "\n".join(lines)


def fast_p(documents: Sequence[Mapping[str, Any]], p: float, baseline: str, asked: int) -> float:
    """The share of `asked` problems with a right kernel that is more than `p` times as fast as a baseline."""
    good = [d for d in documents if d["stage"] == "done" and d["trials"] == TRIALS and d[baseline] > p * d["ours_us"]]
    return len(good) / asked
