"""Kernels of the rules agent, searched from the naive kernel, beside the bound and the vendor library.

    python -m benchmarks.kernels [OPTIONS] [WORKLOAD...]

`--help` lists the options. The table shows the median of several seeds; `--curve` adds the best cycles against
evaluations and seconds, `--svg FILE` draws them.
`--without TRANSFORMATION` leaves an option out (`benchmarks.ablation` does so with each); `--set NAME=N` changes the
machine. With `--evaluations` in place of `--seconds`, results do not depend on how busy the machine is.

`--rtl` measures what was found, and the vendor library's routine, on the RTL model of the machine too (`autocomp rtl
build`), and prints how far the simulator is off. `--ragged` takes sixty shapes that do not divide the array, in place
of those that ship, or those of them that are named; `--drawn N` takes N random operations at random memory latencies,
from `--from SEED` on. `--gemm IxJxK` takes one of this size, with a row bias and ReLU.
`--records` takes the kernels of the schedules that ship, the shortest first, and searches nothing; `--most` leaves out
longer ones. `--out FILE` appends each kernel as it is done, and leaves out those that the file has.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import ceil
from pathlib import Path

from pydantic import TypeAdapter

from autocomp.data import data_dir
from autocomp.errors import ConfigError
from autocomp.schedules.measured import machine_of
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.store import all_schedules, record_at
from autocomp.schedules.verify import workload_of
from autocomp.search import Options
from autocomp.search.executors import available_cores
from autocomp.search.log.journal import Event
from autocomp.search.log.snapshot import Request
from autocomp.search.session import Means
from autocomp.targets.evaluation import SCREEN
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.targets.simulator.evaluate.tiled import tiled_bound
from autocomp.targets.simulator.start.library import library_kernel
from autocomp.targets.simulator.target import accelerator_of
from autocomp.workload import Workload
from benchmarks.curves import Panel, drawing
from benchmarks.measured import Measured, error_table, measure
from benchmarks.ragged import by_kind, drawn, gemms, shapes, spread
from benchmarks.searching import Found, request_for, search

EXO = (
    "gemm_512x512x512",
    "gemm_12544x256x64",
    "gemm_12544x64x256",
    "gemm_3136x512x128",
    "gemm_3136x128x512",
    "gemm_784x1024x256",
)
OTHERS = (
    "gemm_32x2048x2048",
    "gemm_1024x1024x1024",
    "gemm_256x256x256",
    "gemm_6272x256x64",
    "gemm_12544x128x64",
    "gemm_12544x256x128",
    "gemm_128x1024x1024",
    "gemm_64x1024x1024",
    "gemm_32x1024x1024",
    "gemm_100x70x30",
    "gemm_1x1000x2048",
    "gemm_17x33x65",
    "gemm_4096x16x16",
    "gemm_transposed_a",
    "gemm_transposed_b",
    "gemm_bias_relu",
)
_SECONDS = 120.0  # a search, if no budget is given
CONVOLUTIONS = (
    "conv_14_128",
    "conv_14_256",
    "conv_28_128",
    "conv_56_64",
    "conv_stem",
    "conv_pointwise",
    "conv_strided",
    "conv_padded",
    "conv_depthwise",
    "conv_pooled",
)
DEFAULT = "simulator:gemmini"  # the machine of `--records`
QUICK = ("gemm_512x512x512", "gemm_32x1024x1024", "gemm_100x70x30")


@dataclass(frozen=True)
class Row:
    """One search. `curve` holds (evaluations, seconds, best cycles so far) whenever the best changed."""

    workload: str
    seed: int
    bound_cycles: int
    naive_cycles: int
    fsm_cycles: int | None  # of the vendor library; None where it cannot do this
    best_cycles: int
    evaluations: int
    seconds: float
    curve: tuple[tuple[int, float, int], ...]
    kernel: str = ""
    measured: Measured | None = None  # the best kernel on the hardware
    fsm_measured: Measured | None = None
    wrong: int = 0  # candidates
    tiled_cycles: int | None = None  # the bound of tiled kernels; None where it is the bound of all


_ROW: TypeAdapter[Row] = TypeAdapter(Row)


def row(
    name: str | Workload,
    budget: Options,
    without: Collection[str],
    overrides: Mapping[str, int | float],
    *,
    on_rtl: bool = False,
) -> Row:
    request, outcome = search_without(name, budget, without, overrides)
    result = outcome.result
    bound = result.best.evaluation.bound.value if result.best.evaluation and result.best.evaluation.bound else 1
    searched = Row(
        request.workload.name,
        budget.seed,
        bound,
        result.naive.value,
        None,
        result.best.value,
        result.evaluations,
        round(result.seconds, 1),
        tuple(_curve(outcome.events)),
        outcome.kernel,
        wrong=outcome.wrong,
    )
    return beside_the_library(searched, request.workload, request.target, on_rtl=on_rtl)


def beside_the_library(result: Row, workload: Workload, target: Target, *, on_rtl: bool) -> Row:
    """The row with the vendor library's cycles, and with both kernels' on the hardware if asked."""
    accelerator = accelerator_of(target, "the vendor library")
    text = library_kernel(workload, accelerator)
    library = None if text is None else _correct_cycles(text, workload, target)
    tiled = int(tiled_bound(workload, accelerator).value)
    result = replace(result, fsm_cycles=library, tiled_cycles=tiled if tiled > result.bound_cycles else None)
    if not on_rtl:
        return result
    routine = None if text is None or library is None else measure(text, library, workload, accelerator)
    return replace(
        result, measured=measure(result.kernel, result.best_cycles, workload, accelerator), fsm_measured=routine
    )


def shipped_records(most: int) -> list[tuple[Path, ScheduleRecord]]:
    """The schedules for the default machine that ship, of at most `most` cycles, the shortest first."""
    warn = partial(print, file=sys.stderr)
    records = [(one.path, record_at(one)) for one in all_schedules(warn, [data_dir("schedules")])]
    machine = machine_of(load_target(DEFAULT, {}))
    fitting = [one for one in records if one[1].target == machine and one[1].result.value <= most]
    return sorted(fitting, key=lambda one: one[1].result.value)


def record_row(path: Path, record: ScheduleRecord, *, on_rtl: bool) -> Row:
    """The kernel of a schedule, as the simulator times it now. Raises ConfigError if it is wrong by now."""
    target = load_target(record.target.spec, record.target.parameters)
    workload = workload_of(record, target, path, ())
    cycles = _correct_cycles(record.kernel, workload, target)
    if cycles is None:
        raise ConfigError(f"{path}: its kernel is wrong", hint="`autocomp schedules verify` says why")
    naive, bound = int(record.result.naive), int(record.result.bound or 1)
    result = Row(path.stem, 0, bound, naive, None, cycles, 0, 0.0, (), record.kernel)
    return beside_the_library(result, workload, target, on_rtl=on_rtl)


def search_without(
    name: str | Workload, budget: Options, without: Collection[str], overrides: Mapping[str, int | float]
) -> tuple[Request, Found]:
    """A search of which the menu lacks some transformations: what was asked, and what came of it."""
    request = request_for(name, budget, overrides=overrides)
    general = request.menu.for_operation(request.workload.operation)
    options = tuple(option for option in general.options if option.transformation not in without)
    request = replace(request, menu=replace(general, options=options))
    return request, search(request, Means(available_cores(), cache=False))


def _curve(events: Sequence[Event]) -> Iterator[tuple[int, float, int]]:
    best: int | None = None
    evaluated = 0
    for event in events:
        if event["kind"] != "candidate" or event.get("value") is None:
            continue
        evaluated += 1
        if event["outcome"] in ("correct", "screened") and (best is None or event["value"] < best):
            best = event["value"]
            yield evaluated, event["t"], best


def _correct_cycles(text: str, workload: Workload, target: Target) -> int | None:
    """The cycles of a kernel, None for one that does not do the workload."""
    evaluation = target.evaluator(workload).evaluate(text, SCREEN)
    return int(evaluation.value) if evaluation.correct and evaluation.value is not None else None


def panel(result: Row) -> Panel:
    """The share of the bound that a search had come to, by evaluations and by seconds on the same axis."""
    by_evaluations = {count: best for count, _, best in result.curve}
    by_seconds = {max(1, ceil(at)): best for _, at, best in result.curve}  # the last, and so the best, in each second
    ends = {"evaluations": (by_evaluations, result.evaluations), "seconds": (by_seconds, ceil(result.seconds))}
    curves = {name: tuple(_shares(best, result.bound_cycles, last)) for name, (best, last) in ends.items()}
    return Panel(result.workload, curves, axis="")


def _shares(best: Mapping[int, int], bound: int, last: int) -> Iterator[float]:
    share = 0.0
    for number in range(1, last + 1):
        share = bound / best[number] if number in best else share
        yield share


def table(rows: Sequence[Row]) -> Iterator[str]:
    """A line a workload, of the seed with the median result; with the cycles on the hardware where it was asked."""
    on_rtl = any(result.measured is not None for result in rows)
    headings = ["workload", "bound", "naive", "FSM", *(["measured"] if on_rtl else [])]
    headings += ["found", *(["measured", "error"] if on_rtl else []), "of the bound", "tiled", "against FSM"]
    headings += ["evaluations", "seconds"]
    yield f"| {' | '.join(headings)} |"
    yield "|---|" + "---:|" * (len(headings) - 1)
    for name in dict.fromkeys(result.workload for result in rows):
        group = sorted((result for result in rows if result.workload == name), key=_cycles)
        shown = group[len(group) // 2]
        cells = [f"`{name}`", f"{shown.bound_cycles:,}", f"{shown.naive_cycles:,}", _number(shown.fsm_cycles)]
        cells += [_number(_on_hardware(shown.fsm_measured))] if on_rtl else []
        cells.append(f"{shown.best_cycles:,}")
        if on_rtl:
            error = shown.measured.error if shown.measured is not None else None
            cells += [_number(_on_hardware(shown.measured)), "–" if error is None else f"{error:+.2%}"]
        loops = shown.fsm_cycles if shown.measured is None else _on_hardware(shown.fsm_measured)
        cells += [f"{_of_all(shown):.1%}", f"{_tiled(shown):.1%}"]
        cells.append(f"{loops / _cycles(shown):.3f}" if loops else "–")
        cells += [str(shown.evaluations), f"{statistics.median(result.seconds for result in group):.0f}"]
        yield f"| {' | '.join(cells)} |"


def summary(rows: Sequence[Row]) -> str:
    """The shares of both bounds over all workloads, how far seeds differ, and the share of wrong candidates."""
    groups = [[_cycles(one) for one in rows if one.workload == name] for name in {one.workload for one in rows}]
    worst = {one.workload: one for one in sorted(rows, key=_cycles)}
    shares, tiled = ({name: share(one) for name, one in worst.items()} for share in (_of_all, _tiled))
    apart = max(max(group) / min(group) - 1 for group in groups)
    wrong, judged = sum(one.wrong for one in rows), sum(one.evaluations for one in rows)
    return (
        f"of the bound, of the worst seed: {spread(shares)}; of that of tiled kernels: {spread(tiled)}; "
        f"seeds differ by {apart:.1%} at most; {wrong} of {judged} candidates were wrong"
    )


def _of_all(result: Row) -> float:
    return result.bound_cycles / _cycles(result)


def _tiled(result: Row) -> float:
    """The share of the bound of tiled kernels."""
    return (result.tiled_cycles or result.bound_cycles) / _cycles(result)


def _cycles(result: Row) -> int:
    """Those on the hardware where they were measured."""
    return _on_hardware(result.measured) or result.best_cycles


def _on_hardware(result: Measured | None) -> int | None:
    return None if result is None else result.cycles


def _number(cycles: int | None) -> str:
    return f"{cycles:,}" if cycles else "–"


def _kinds(rows: Sequence[Row]) -> Iterator[tuple[str, Sequence[Measured]]]:
    """The measured kernels by what they are."""
    measured = [one for one in rows if one.measured is not None]
    for kind, chosen in (
        ("found, GEMMs", [one.measured for one in measured if one.workload.startswith("gemm")]),
        ("found, others", [one.measured for one in measured if not one.workload.startswith("gemm")]),
        ("found, all", [one.measured for one in measured]),
        ("hardware loops", [one.fsm_measured for one in measured]),
    ):
        yield kind, [one for one in chosen if one is not None]


def _problems(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each kernel that the hardware did not confirm."""
    for result in rows:
        for what, one in (("found", result.measured), ("hardware loops", result.fsm_measured)):
            if one is not None and one.cycles is None:
                yield f"{result.workload} seed {result.seed}, {what}: {one.verdict}: {one.message}"


def _known(file: Path | None) -> list[Row]:
    """The searches that a file has."""
    if file is None or not file.exists():
        return []
    return [_ROW.validate_json(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _note(rows: list[Row], result: Row, file: Path | None) -> None:
    rows.append(result)
    if file is not None:
        with file.open("a", encoding="utf-8") as out:
            out.write(_ROW.dump_json(result).decode() + "\n")
    print(f"{result.workload} seed {result.seed}: {result.best_cycles:,}{_measured_text(result)}", file=sys.stderr)


def _override(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    return name, int(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--curve", action="store_true")
    parser.add_argument("--svg", type=Path, help="file for the curves of each workload's first seed")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--evaluations", type=int)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--set", dest="overrides", type=_override, action="append", default=[])
    parser.add_argument("--rtl", action="store_true")
    parser.add_argument("--ragged", action="store_true")
    parser.add_argument("--drawn", type=int, default=0, metavar="N")
    parser.add_argument("--from", dest="first", type=int, default=1000, metavar="SEED", help="of `--drawn`")
    parser.add_argument("--gemm", dest="gemms", action="append", default=[], metavar="IxJxK")
    parser.add_argument("--records", action="store_true")
    parser.add_argument("--most", type=int, default=1_000_000, help="cycles of a schedule that `--records` takes")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    named: Sequence[str | Workload] = given.workloads or (QUICK if given.quick else EXO + OTHERS + CONVOLUTIONS)
    rows = _known(given.out)
    overrides = dict(given.overrides)
    done = {(result.workload, result.seed) for result in rows}
    for path, record in shipped_records(given.most) if given.records else ():
        if (path.stem, 0) not in done:
            _note(rows, record_row(path, record, on_rtl=given.rtl), given.out)
    if given.records:
        named = ()
    if given.ragged or given.drawn:
        chosen = tuple(drawn(given.drawn, given.first)) or shapes(overrides)
        missing = sorted({*given.workloads} - {one.name for one in chosen})
        if missing:
            parser.error(f"no such shape: {', '.join(missing)}; there are {', '.join(one.name for one in chosen)}")
        named = tuple(one for one in chosen if not given.workloads or one.name in given.workloads)
    named = gemms(given.gemms, overrides) or named
    for problem in named:
        name = problem if isinstance(problem, str) else problem.name
        for seed in range(1 if given.quick else given.seeds):
            if (name, seed) in done:
                continue
            seconds = given.seconds if given.seconds or given.evaluations else _SECONDS
            budget = Options(seed=seed, seconds=seconds, evaluations=given.evaluations)
            try:
                _note(rows, row(problem, budget, given.without, overrides, on_rtl=given.rtl), given.out)
            except ConfigError as error:  # an operation that was drawn may be one that the machine cannot begin
                if not given.drawn:
                    raise
                print(f"{name}: {error.message}", file=sys.stderr)
    if given.svg:
        given.svg.write_text(drawing([panel(result) for result in rows if result.seed == 0]), encoding="utf-8")
    if given.json:
        print(json.dumps([asdict(result) for result in rows], indent=2))
        return
    print("\n".join(table(rows)))
    print("\n" + summary(rows))
    if given.ragged:
        print("\n" + "\n".join(by_kind({one.workload: (_of_all(one), _tiled(one)) for one in rows})))
    if any(result.measured is not None for result in rows):
        print("\n" + "\n".join([*error_table(_kinds(rows)), *_problems(rows)]))
    for result in rows if given.curve else ():
        print(f"\n{result.workload}, seed {result.seed}: evaluations, seconds, best cycles")
        print("\n".join(f"{count:6} {at:8.1f} {best:12,}" for count, at, best in result.curve))


def _measured_text(result: Row) -> str:
    if result.measured is None:
        return ""
    loops = _on_hardware(result.fsm_measured)
    return f", measured {_number(result.measured.cycles)}, hardware loops {_number(loops)}"


if __name__ == "__main__":
    main()
