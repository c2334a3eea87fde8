"""An evaluation survives JSON, but for the per-command record."""

from __future__ import annotations

import json

import numpy as np
from autocomp.simulator.results import Commands, Timing

from autocomp.targets.simulator.evaluate import (
    Bound,
    Evaluation,
    LineCycles,
    StageVerdict,
    evaluation_from_json,
    evaluation_to_json,
)
from autocomp.targets.simulator.evaluate.hotspots import line_cycles

EVALUATION = Evaluation(
    stages=(StageVerdict("check", "passed", "fine", None, 0.5), StageVerdict("smoke", "failed", "wrong", 3, 0.25)),
    cycles=1000,
    bound=Bound(500, 500, 20, "the multipliers"),
    utilisation=0.5,
    commands=12,
    steps=99,
    unit_cycles={"load": {"Busy": 400, "Idle": 600}},
    memory_rows={"spad": (32, 64)},
    dram_bytes=(10, 20),
    lines=(LineCycles(3, "mvin();", 12, 7, {"Bus": 7}),),
    seconds=0.75,
)


def test_round_trip() -> None:
    assert evaluation_from_json(json.loads(json.dumps(evaluation_to_json(EVALUATION)))) == EVALUATION


def test_failure_and_ratio() -> None:
    assert not EVALUATION.correct
    assert EVALUATION.failure == EVALUATION.stages[1]
    assert EVALUATION.ratio == 0.5


def commands(line: list[int], cause: list[int], wait: list[int]) -> Commands:
    zero = np.zeros(len(line), np.int64)
    return Commands(
        instruction=zero.astype(np.int32),
        unit=zero.astype(np.int32),
        line=np.array(line, np.int32),
        offered=zero,
        accepted=zero,
        allocated=zero,
        issued=zero,
        started=zero,
        completed=zero,
        cause=np.array(cause, np.int32),
        wait_cycles=np.array(wait, np.int64),
        sender=zero.astype(np.int32) - 1,
        released_by=zero - 1,
        release=zero.astype(np.int32),
    )


def test_waits_are_summed_by_line_and_cause_hottest_first() -> None:
    record = commands([2, 1, 2, 2], [0, 1, 1, 0], [3, 5, 4, 2])
    timing = Timing(100, (), (), ("Bus", "Host"), record)
    assert line_cycles(timing, "first();\n  second();\n") == (
        LineCycles(2, "second();", 3, 9, {"Bus": 5, "Host": 4}),
        LineCycles(1, "first();", 1, 5, {"Host": 5}),
    )
