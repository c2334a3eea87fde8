"""KernelBench's problems: a search for each, its kernel beside PyTorch, eager and compiled, and fast_p.

A kernel counts if it passed every stage of our judge and the check of the benchmark. That check takes five draws of
the inputs, and asks for results within 1e-4 of the module's own. `fast_p` is the share of all problems whose kernel
counts and is more than p times as fast as the baseline.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from autocomp import load_workload
from autocomp.agents.config import Agents
from autocomp.search import Options
from autocomp.search.session import Means, run_session
from autocomp.search.snapshot import Request
from autocomp.search.snapshot import create as create_run
from autocomp.targets import menu_file
from autocomp.targets.registry import load_target
from autocomp.targets.triton.evaluator import task_of
from autocomp.targets.triton.worker.cases import Task

TRIALS = 5
TOLERANCE = 1e-4  # absolute and relative, of the benchmark for float32
SHARES = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
TIMED_MS = 60


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
    print(table(folder, level))


def run_problem(folder: Path, problem: str, evaluations: int) -> None:
    """Search for one problem and measure; what came of it goes into the folder."""
    file = folder / f"{problem.replace('/', '_')}.kb.json"
    found: dict[str, Any] = {"problem": problem, "stage": "start"}
    try:
        _measured(problem, folder, evaluations, found)
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {str(error)[:400]}"
    file.write_text(json.dumps(found, indent=1), encoding="utf-8")


def _measured(problem: str, folder: Path, evaluations: int, found: dict[str, Any]) -> None:
    from datetime import datetime

    from autocomp.targets.triton.worker.referee import Referee

    workload = load_workload(f"kernelbench:{problem}", trust=True)
    target = load_target("triton")
    target.starting_kernel(workload)
    found["stage"] = "search"
    options = Options(evaluations=evaluations, plans_per_parent=evaluations, beam=2, dropout=0.0)
    request = Request(workload, target, menu_file.load(["triton"]), Agents(), options, "beam")
    run = create_run(folder / "runs" / problem.replace("/", "_"), request, datetime.now().astimezone())
    result = run_session(request, run, Means(executor="threads:2", cache=False))
    kernel = run.kernel(result.best.kernel)
    (folder / f"{problem.replace('/', '_')}.py").write_text(kernel, encoding="utf-8")
    found |= {"judged_us": result.best.value, "evaluations": result.evaluations, "stage": "beside"}
    with Referee("cuda:0").alone(Task.of(task_of(workload))):
        found |= _beside(str(workload.reference_text), folder / f"{problem.replace('/', '_')}.py")
    found["stage"] = "done"


def _beside(reference: str, kernel: Path) -> dict[str, Any]:
    """The benchmark's check of a kernel, and its time beside the module's, eager and compiled, in one process."""
    import torch
    import triton

    from autocomp.targets.triton.worker.referee import Referee

    module: dict[str, Any] = {}
    exec(compile(reference, "reference.py", "exec"), module)
    spec = importlib.util.spec_from_file_location("kernel", kernel)
    assert spec is not None
    assert spec.loader is not None
    ours = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ours)
    torch.backends.cudnn.allow_tf32 = False  # the trials compare with what float32 gives; times are of the defaults
    with torch.device("cuda"), torch.no_grad():
        model = module["Model"](*module["get_init_inputs"]()).cuda()
        right = 0
        for trial in range(TRIALS):
            torch.manual_seed(trial)
            inputs = [one.cuda() if isinstance(one, torch.Tensor) else one for one in module["get_inputs"]()]
            tensors = [one for one in inputs if isinstance(one, torch.Tensor)]
            tensors += [parameter.detach() for parameter in model.parameters()]
            expected = model(*inputs)
            out = torch.full_like(expected, -1.0)
            ours.solution(*tensors, out)
            right += torch.allclose(out.float(), expected.float(), atol=TOLERANCE, rtol=TOLERANCE)
            del expected
        torch.backends.cudnn.allow_tf32 = True
        compiled = torch.compile(model)
        compiled(*inputs)

        def timed(action: Callable[[], Any]) -> float:
            return 1000.0 * float(triton.testing.do_bench(action, warmup=20, rep=TIMED_MS, return_mode="median"))

        with Referee("cuda:0").turn():
            return {
                "trials": right,
                "eager_us": timed(lambda: model(*inputs)),
                "compile_us": timed(lambda: compiled(*inputs)),
                "ours_us": timed(lambda: ours.solution(*tensors, out)),
            }


def table(folder: Path, level: str) -> str:
    """The problems that were run, and fast_p over all that the level has been asked for."""
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
        shares = [f"fast_{p:g} {fast_p(documents, p, baseline):.2f}" for p in SHARES]
        lines.append(f"{baseline.split('_')[0]}: {', '.join(shares)} of {len(documents)} problems that were run")
    return "\n".join(lines)


def fast_p(documents: Sequence[Mapping[str, Any]], p: float, baseline: str) -> float:
    """The share of problems with a right kernel that is more than `p` times as fast as a baseline."""
    good = [d for d in documents if d["stage"] == "done" and d["trials"] == TRIALS and d[baseline] > p * d["ours_us"]]
    return len(good) / len(documents) if documents else 0.0
