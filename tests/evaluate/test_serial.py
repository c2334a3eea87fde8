"""An evaluation survives JSON."""

from __future__ import annotations

import json

import numpy as np
from autocomp.simulator.results import Commands, Timing

from autocomp.targets.evaluation import Bound, Evaluation, Evidence, LineCost, Measurement, Objective, StageVerdict
from autocomp.targets.serial import from_document, to_document
from autocomp.targets.simulator.evaluate.hotspots import line_cycles

EVALUATION = Evaluation(
    stages=(StageVerdict("check", "passed", "fine", None, 0.5), StageVerdict("smoke", "failed", "wrong", 3, 0.25)),
    objective=Objective("us"),
    measurement=Measurement(12.5, 0.25, (12.5, 12.25, 13)),
    bound=Bound(6.25, "the multipliers", {"compute": 6.25, "memory": 2}),
    evidence=Evidence(
        figures={"utilisation": 0.5, "commands": 12},
        parts={"load": {"Busy": 400, "Idle": 600}},
        resources={"spad": (32, 64)},
        lines=(LineCost(3, "mvin();", 12, 7, {"Bus": 7}),),
        story=("Loads wait for the bus.",),
    ),
    seconds=0.75,
    seed=1 << 63,
)


def test_round_trip() -> None:
    document = json.loads(json.dumps(to_document(EVALUATION), allow_nan=False))
    assert from_document(Evaluation, document) == EVALUATION


def test_whole_numbers_stay_whole() -> None:
    document = to_document(EVALUATION)
    assert isinstance(document["evidence"]["figures"]["commands"], int)
    assert isinstance(from_document(Evaluation, document).evidence.parts["load"]["Busy"], int)


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
        LineCost(2, "second();", 3, 9, {"Bus": 5, "Host": 4}),
        LineCost(1, "first();", 1, 5, {"Host": 5}),
    )
