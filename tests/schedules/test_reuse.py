"""The schedules that a search begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from autocomp import workload
from autocomp.schedules.measured import machine_of
from autocomp.schedules.record import ScheduleRecord
from autocomp.schedules.reuse import precedents_for
from autocomp.schedules.store import Store
from autocomp.targets.planning import LineageStep
from autocomp.targets.protocol import Target
from autocomp.targets.registry import load_target
from autocomp.workload.model import Workload

from .test_store import make, no_warning

MACHINE = load_target("simulator:gemmini")


def gemm(*sizes: int, **options: str) -> Workload:
    text = f"operation: gemm\naccelerator: gemmini\ndims: {dict(zip('IJK', sizes, strict=True))}\n"
    text += "".join(f"{name}: {value}\n" for name, value in options.items())
    return workload.parse(text, Path("gemm.yaml"))


def keep(root: Path, problem: Workload, machine: Target = MACHINE, cycles: int = 100) -> str:
    """Put a record of a problem into a store; its name there."""
    document = make(cycles).model_dump()
    document["target"] = machine_of(machine).model_dump() | {"digest": "d"}
    document["operation"] |= {"dims": dict(problem.dims), "options": dict(problem.options)}
    path, _ = Store(root).put(ScheduleRecord.model_validate(document))
    return path.relative_to(root).as_posix()


def lineages(root: Path, document: dict[str, Any]) -> list[tuple[LineageStep, ...]]:
    """The lineages that a search for another shape begins with if this is the only record."""
    document["target"] = machine_of(MACHINE).model_dump() | {"digest": "d"}
    document["operation"]["dims"] = {"I": 64, "J": 64, "K": 64}
    Store(root).put(ScheduleRecord.model_validate(document))
    return [p.lineage for p in precedents_for(gemm(64, 64, 80), MACHINE, 1, no_warning, [root])]


def found(root: Path, problem: Workload, machine: Target = MACHINE, count: int = 9) -> list[str]:
    return [p.record for p in precedents_for(problem, machine, count, no_warning, [root])]


def test_the_nearest_shapes_are_taken_the_nearest_first(tmp_path: Path) -> None:
    small, large = keep(tmp_path, gemm(64, 64, 64)), keep(tmp_path, gemm(512, 512, 512))
    assert found(tmp_path, gemm(300, 400, 500)) == [large, small]
    assert found(tmp_path, gemm(300, 400, 500), count=1) == [large]


def test_the_schedule_of_the_problem_itself_is_left_out_so_that_a_repeated_search_is_the_same(tmp_path: Path) -> None:
    other = keep(tmp_path, gemm(64, 64, 128))
    before = found(tmp_path, gemm(64, 64, 64))
    keep(tmp_path, gemm(64, 64, 64))
    assert found(tmp_path, gemm(64, 64, 64)) == before == [other]


def test_the_same_shape_on_the_machine_in_another_size_is_one(tmp_path: Path) -> None:
    name = keep(tmp_path, gemm(64, 64, 64))
    assert found(tmp_path, gemm(64, 64, 64), load_target("simulator:gemmini", {"DIM": 32})) == [name]


def test_an_option_that_differs_is_a_distance(tmp_path: Path) -> None:
    plain, biased = keep(tmp_path, gemm(64, 64, 80)), keep(tmp_path, gemm(64, 64, 80, bias="row"))
    assert found(tmp_path, gemm(64, 64, 96, bias="row")) == [biased, plain]


def test_of_equally_near_schedules_the_one_nearer_to_its_bound_comes_first(tmp_path: Path) -> None:
    slow, fast = keep(tmp_path, gemm(64, 64, 128), cycles=200), keep(tmp_path, gemm(64, 128, 64), cycles=100)
    assert found(tmp_path, gemm(64, 64, 64)) == [fast, slow]


def test_another_accelerator_is_none(tmp_path: Path) -> None:
    keep(tmp_path, gemm(64, 64, 64))
    assert found(tmp_path, gemm(64, 64, 65), load_target("simulator:tiny")) == []


def test_plans_at_the_end_that_gained_next_to_nothing_are_no_part_of_it(tmp_path: Path) -> None:
    document = make(1000).model_dump()
    document["plans"] = [
        {**document["plans"][0], "option": option, "value": cycles}
        for option, cycles in (("big", 1500), ("none", 1500), ("last", 1004), ("tail", 1001), ("end", 1000))
    ]
    (precedent,) = lineages(tmp_path, document)
    gains = [(step.plan.option, step.gain) for step in precedent]
    assert gains == [("big", 900 / 1500), ("none", 1.0), ("last", 1500 / 1004)]


def test_a_tampered_schedule_is_named_and_none(tmp_path: Path) -> None:
    path = tmp_path / keep(tmp_path, gemm(64, 64, 64))
    path.write_text(path.read_text().replace("value: 100", "value: 60"))
    warnings: list[str] = []
    assert precedents_for(gemm(64, 64, 65), MACHINE, 1, warnings.append, [tmp_path]) == ()
    assert len(warnings) == 1
    assert path.name in warnings[0]
