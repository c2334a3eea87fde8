"""Published networks, served by the library.

    python -m benchmarks.networks [--evaluations N] [--store FOLDER] [--details SHARE] [NETWORK...]

Prints Markdown, a row a network. The layers are data in benchmarks/library/*.yaml. A layer is served `exact` from a
schedule of the stores, else `adapted` by a search of N kernels, which begins with the nearest schedules; with N = 0 it
is not served. Cycles are sums over the served operations, each as often as the network does it, and the share of the
bound is that of these sums. `served` is the share of all multiply-accumulates on kernels; softmax, normalisation and
pooling are not counted.

--store keeps the adapted schedules in a folder for later runs. --details lists the operations below SHARE of their
bound, those with most cycles above it first. It also lists the operations that are not served, with the reason.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import autocomp
from autocomp.errors import AutocompError
from autocomp.schedules import lookup
from autocomp.targets.registry import load_target
from benchmarks.library.shapes import Shape, model_files, read, shapes

EVALUATIONS = 6
COLUMNS = ("network", "operations", "exact", "adapted", "served", "cycles", "of bound", "seconds")


@dataclass(frozen=True)
class Layer:
    """One operation of a network: how it is served, or why it is not."""

    shape: Shape
    origin: str
    cycles: int = 0
    bound: int = 0
    reason: str = ""

    @property
    def share(self) -> float:
        return self.bound / self.cycles if self.cycles else 0.0

    @property
    def above(self) -> int:
        """Cycles of the network above this layer's bound."""
        return self.shape.count * (self.cycles - self.bound)

    @property
    def line(self) -> str:
        name, count = self.shape.workload.name, self.shape.count
        words = f"{self.cycles:,} cycles, {self.share:.1%} of the bound" if self.cycles else self.reason
        return f"- {count} x `{name}`: {self.origin}, {words}"


def served(shape: Shape, evaluations: int) -> Layer:
    try:
        known = _known(shape)
        if known is not None or evaluations == 0:
            return known or Layer(shape, "not served", reason="the stores do not have it")
        result = autocomp.lookup_or_adapt(shape.workload, evaluations=evaluations).record.result
        return Layer(shape, "adapted", int(result.value), int(result.bound or 0))
    except AutocompError as error:
        return Layer(shape, "not served", reason=error.message)


def _known(shape: Shape) -> Layer | None:
    """As the stores' index has it."""
    workload = shape.workload
    target = load_target(workload.target, workload.overrides)
    match = lookup(
        workload.operation,
        workload.dims,
        target=f"{target.kind}:{target.name}",
        options=workload.options,
        parameters=target.parameters,
    )
    if match is None or not match.exact:
        return None
    bound = target.bound(workload)
    return Layer(shape, "exact", int(match.stored.entry.value), 0 if bound is None else int(bound.value))


def row(file: Path, evaluations: int) -> tuple[str, list[Layer]]:
    """The network's row, and its layers."""
    begin = time.perf_counter()
    layers = [served(shape, evaluations) for shape in shapes(file)]
    seconds = time.perf_counter() - begin
    model = read(file)
    counts = [sum(layer.origin == origin for layer in layers) for origin in ("exact", "adapted")]
    done = [layer for layer in layers if layer.cycles]
    cycles, bound = (
        sum(layer.shape.count * getattr(layer, figure) for layer in done) for figure in ("cycles", "bound")
    )
    everything = _work(layers) + sum(other.count * other.multiply_accumulates for other in model.stays)
    figures = [f"{len(layers) + len(model.stays)}", *map(str, counts), f"{_work(done) / everything:.1%}"]
    figures += [f"{cycles:,}", f"{bound / cycles:.1%}" if cycles else "-", f"{seconds:.1f}"]
    return f"| {model.model} | {' | '.join(figures)} |", layers


def _work(layers: Iterable[Layer]) -> int:
    return sum(layer.shape.count * layer.shape.workload.multiply_accumulates for layer in layers)


def details(file: Path, layers: Iterable[Layer], share: float) -> Iterator[str]:
    yield f"\n{read(file).model}\n"
    for layer in sorted(layers, key=lambda layer: -layer.above):
        if layer.share < share:
            yield layer.line
    for other in read(file).stays:
        yield f"- {other.count} x {other.multiply_accumulates:,} multiply-accumulates: not served, {other.reason}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="names of files in benchmarks/library (default: all)")
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument(
        "--store", type=Path, help="folder for the schedules that are adapted (default: a temporary one)"
    )
    parser.add_argument("--details", type=float, default=0.0, metavar="SHARE")
    arguments = parser.parse_args()
    files = [file for file in model_files() if not arguments.networks or file.stem in arguments.networks]
    with tempfile.TemporaryDirectory() as temporary:
        os.environ["AUTOCOMP_SCHEDULES"] = str((arguments.store or Path(temporary)).resolve())
        print(f"| {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) - 1)}")
        results = {}
        for file in files:
            line, results[file] = row(file, arguments.evaluations)
            print(line, flush=True)
        if arguments.details:
            for file, layers in results.items():
                print("\n".join(details(file, layers, arguments.details)))


if __name__ == "__main__":
    main()
