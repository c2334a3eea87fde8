"""KernelBench's problems: the rules' first kernels for each, the best beside PyTorch, eager and compiled, and fast_p.

A kernel counts if it passed every stage of our judge and the check of the benchmark. That check takes five draws of
the inputs, and asks for results within 1e-4 of the module's own. `fast_p` is the share of all problems whose kernel
counts and is more than p times as fast as the baseline.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from autocomp import load_workload
from autocomp.errors import NotApplicable
from autocomp.targets.evaluation import PHASES, PROVE, SCREEN
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

    workload = load_workload(f"kernelbench:{problem}", trust=True)
    target = load_target("triton")
    start = target.starting_kernel(workload)
    document["stage"] = "search"
    judge = target.evaluator(workload)
    kernels = list(dict.fromkeys([start, *_rewritten(target, start, workload)]))[:candidates]
    first = SCREEN if len(kernels) > 1 else PHASES
    screened = [(kernel, judge.evaluate(kernel, first)) for kernel in kernels]
    document["screened_us"] = [one.value if one.correct else str(one.failure)[:200] for _, one in screened]
    right = sorted(((one.value, kernel) for kernel, one in screened if one.correct and one.value is not None))
    for value, kernel in right:
        proof = judge.evaluate(kernel, PROVE) if first is SCREEN else None
        if proof is not None and not proof.correct:
            document.setdefault("refused", []).append(str(proof.failure)[:300])
            continue
        file = folder / f"{problem.replace('/', '_')}.py"
        file.write_text(kernel, encoding="utf-8")
        document |= {"judged_us": value, "evaluations": len(kernels), "stage": "beside"}
        task = Task.of(task_of(workload))
        with Turns("cuda:0").room(sum(bytes_of(task, own_case(task)))):  # no less than for a judgement
            document |= _beside(str(workload.reference_text), file)
        document["stage"] = "done"
        return


def _rewritten(target: Target, start: str, workload: Workload) -> Iterator[str]:
    """Kernels by the rules' sequences of rewrites, the most promising first."""
    for proposal in target.transformations.proposals("sequence", start, workload):
        try:
            yield target.transformations.apply("sequence", start, workload, proposal.parameters)
        except NotApplicable:
            continue


def _beside(reference: str, kernel: Path) -> dict[str, Any]:
    """The benchmark's check of a kernel, and its time beside the module's, eager and compiled, in one process."""
    import torch
    import triton

    from autocomp.targets.triton.worker.turns import Turns

    module: dict[str, Any] = {}
    exec(compile(reference, "reference.py", "exec"), module)
    spec = importlib.util.spec_from_file_location("kernel", kernel)
    assert spec is not None
    assert spec.loader is not None
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)
    turns = Turns("cuda:0")
    torch.backends.cudnn.allow_tf32 = False  # the trials compare with what float32 gives; times are of the defaults
    with torch.device("cuda"), torch.no_grad():
        model = module["Model"](*module["get_init_inputs"]()).cuda()
        right = 0
        for trial in range(TRIALS):
            torch.manual_seed(trial)
            inputs = expected = out = tensors = None  # before others take their place
            with turns.alone():
                inputs = [one.cuda() if isinstance(one, torch.Tensor) else one for one in module["get_inputs"]()]
                tensors = [_shared(one) for one in inputs if isinstance(one, torch.Tensor)]
                tensors += [parameter.detach() for parameter in model.parameters()]
                expected = model(*inputs)
                out = torch.full_like(expected, -1.0)
                ours.solution(*tensors, out)
                right += _equal(out, expected)
                torch.cuda.synchronize()
        del expected
        torch.backends.cudnn.allow_tf32 = True
        compiled = torch.compile(model)
        compiled(*inputs)

        def timed(action: Callable[[], Any]) -> float:
            return 1000.0 * float(triton.testing.do_bench(action, warmup=WARM_MS, rep=TIMED_MS, return_mode="median"))

        contenders: dict[str, Callable[[], Any]] = {
            "eager_us": lambda: model(*inputs),
            "compile_us": lambda: compiled(*inputs),
            "ours_us": lambda: ours.solution(*tensors, out),
        }
        with turns.alone():
            rounds = [{name: timed(action) for name, action in contenders.items()} for _ in range(ROUNDS)]
            torch.backends.cudnn.allow_tf32 = False
            exact = timed(contenders["eager_us"])
        medians = {name: statistics.median(times[name] for times in rounds) for name in contenders}
        return {"trials": right, **medians, "float32_us": exact, "rounds": rounds}


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
