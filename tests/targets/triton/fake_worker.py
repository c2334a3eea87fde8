"""A worker without a GPU, for tests of everything around one: it times kernels by what their text says.

Started as `python fake_worker.py ANYTHING …`; a file named in AUTOCOMP_FAKE_WORKER may hold faults to show: `die N`
ends the worker at its N-th judgement.
"""

import json
import os
import sys
from pathlib import Path

BASE = 1000.0  # us
FASTER = {
    "evict_last": 0.9,
    "next_power_of_2": 0.5,
    "exp2": 0.95,
    "TensorDescriptor": 0.7,
    "GROUP": 0.95,
    "num_warps=8": 0.9,
    "(1.0 /": 0.98,
}
NOISE = (0.0, 0.4, -0.3, 0.2, -0.1)
DEVICE = {
    "protocol": 1,
    "device": "cuda:0",
    "name": "Fake GPU 1",
    "backend": "cuda",
    "capability": [9, 0],
    "multiprocessors": 132,
    "memory_bytes": 1 << 37,
    "cache_bytes": 1 << 25,
    "shared_bytes": 232_448,
    "versions": {"torch": "0", "triton": "0", "numpy": "0", "cuda": "0"},
}


def microseconds(kernel: str) -> float:
    found = BASE
    for word, factor in FASTER.items():
        found *= factor if word in kernel else 1.0
    return found


def measurement(kernel: str) -> dict[str, object]:
    value = microseconds(kernel)
    return {"value": value, "spread": 0.3, "samples": [value + noise for noise in NOISE]}


def judged(params: dict[str, object]) -> dict[str, object]:
    kernel, phases = str(params["kernel"]), params["phases"]
    wrong = "wrong on purpose" in kernel
    stages = {"screen": ["compile", "smoke", "timing"], "prove": ["sizes", "values", "determinism"]}
    verdicts = []
    for phase in ("screen", "prove"):
        for stage in stages[phase] if phase in phases else ():  # type: ignore[operator]
            failed = wrong and stage == "smoke"
            message = "y: 3 of 9 elements are wrong" if failed else ""
            status = "failed" if failed else "passed"
            verdicts.append({"stage": stage, "status": status, "message": message, "seconds": 0.0})
            if failed:
                return {"stages": verdicts, "measurement": None, "resources": [], "seconds": 0.0}
    timed = measurement(kernel) if "screen" in phases else None  # type: ignore[operator]
    return {"stages": verdicts, "measurement": timed, "resources": [], "seconds": 0.0}


def claimed(faults: Path, fault: str) -> bool:
    """True for the one worker that is to show a fault: several may look for it at the same moment."""
    try:
        if faults.read_text(encoding="utf-8") != fault:
            return False
        faults.rename(faults.with_suffix(".shown"))
    except FileNotFoundError:
        return False
    return True


def main() -> None:
    faults = os.environ.get("AUTOCOMP_FAKE_WORKER", "")
    judgements = 0
    for line in sys.stdin:
        request = json.loads(line)
        method, params = request["method"], request["params"]
        if method == "hello":
            result: dict[str, object] = DEVICE
        elif method == "probe":
            result = {"bandwidth": 4e12, "products": {"float16": 8e14}, "launch_us": 2.0}
        elif method == "judge":
            judgements += 1
            if faults and claimed(Path(faults), f"die {judgements}"):
                sys.exit(3)
            result = judged(params)
        else:
            result = {"measurements": [measurement(kernel) for kernel in params["kernels"]]}
        print(json.dumps({"id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
