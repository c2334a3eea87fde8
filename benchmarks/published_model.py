"""A published model on the simulator, end to end.

    python -m benchmarks.published_model [--keep FILE]

The model is the classifier of text directions that rapidocr-onnxruntime ships, a MobileNetV3 of 53 convolutions. It is
quantised to int8 and run in ONNX Runtime, with its convolutions and its multiplication on our kernels. These are first
the naive kernels, then those of the schedules, or adapted from the nearest schedules without a search.

Prints Markdown: the cycles of all kernels of one inference, and whether the results equal those of ONNX Runtime alone,
bit for bit. --keep writes the int8 model to a file. `autocomp model FILE --search N` then makes schedules for it, which
a second run uses.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from autocomp.models.kernels import NAIVE, Choose, adapted_kernel
from autocomp.models.quantise import quantise
from autocomp.models.runtime import PartitionedModel, session
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.workload import Workload

MODEL = "ch_ppocr_mobile_v2.0_cls_infer.onnx"
SHAPE = (1, 3, 48, 48)
SAMPLES = 4


def source() -> Path:
    spec = importlib.util.find_spec("rapidocr_onnxruntime")
    if spec is None or spec.submodule_search_locations is None:
        sys.exit("the model comes with a package that is not installed: pip install --no-deps rapidocr-onnxruntime")
    return Path(spec.submodule_search_locations[0]) / "models" / MODEL


def naive_kernel(workload: Workload, target: Target) -> tuple[str, str]:
    return target.starting_kernel(workload), NAIVE


def origin(kernel_source: str) -> str:
    if kernel_source == NAIVE:
        return NAIVE
    return "adapted" if kernel_source.startswith("as ") else "scheduled"


def row(label: str, model: Path, choose: Choose, image: np.ndarray) -> str:
    parts = PartitionedModel(model, load_target("simulator:gemmini"), choose)
    run = parts.run({"x": image}, timed=True)
    (expected,) = session(str(model)).run(None, {"x": image})
    (output,) = run.outputs.values()
    counts = Counter(origin(part.source) for part in parts.taken)
    kernels = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    same = "yes" if np.array_equal(expected, output) else "no"
    return f"| {label} | {kernels} | {sum(run.cycles.values()):,} | {same} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, help="file for the int8 model")
    arguments = parser.parse_args()
    generator = np.random.default_rng(0)
    images = [generator.uniform(-1, 1, SHAPE).astype(np.float32) for _ in range(SAMPLES + 1)]
    with tempfile.TemporaryDirectory() as folder:
        model = arguments.keep or Path(folder) / "int8.onnx"
        quantise(source(), model, [{"x": image} for image in images[:SAMPLES]])
        print("| kernels | of them | cycles | as ONNX Runtime |")
        print("|---|---|---:|---|")
        print(row("naive", model, naive_kernel, images[-1]), flush=True)
        print(row("schedules, else adapted", model, adapted_kernel, images[-1]), flush=True)


if __name__ == "__main__":
    main()
