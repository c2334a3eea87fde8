"""The same machine in other circumstances."""

from __future__ import annotations

import pytest

from autocomp.errors import AutocompError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.conditions import usual_conditions, with_parameters, with_settings
from autocomp.targets.simulator.isa.derived.contractions import contractions

MACHINE = isa.load("gemmini")


def test_usual_are_a_nearer_and_a_more_distant_memory_and_a_host_that_takes_time() -> None:
    found = usual_conditions(MACHINE)
    assert list(found) == ["latency 20", "latency 120", "host"]
    assert [machine.dram.settings["latency"] for machine in found.values()] == [20, 120, 40]
    assert [machine.settings["host.code"] for machine in found.values()] == [0, 0, 1]
    assert len({machine.digest for machine in (MACHINE, *found.values())}) == 4


def test_what_would_be_the_machine_itself_is_left_out() -> None:
    host = isa.load("gemmini", {"HOST": 1})
    assert list(usual_conditions(host)) == ["latency 20", "latency 120"]


def test_settings_of_units_and_sections_change_too() -> None:
    changed = with_settings(MACHINE, {"load.queue": 2, "front.queue": 3})
    assert next(unit for unit in changed.units if unit.name == "load").settings["queue"] == 2
    assert changed.settings["front.queue"] == 3
    assert with_settings(changed, {"load.queue": 2}) is changed


def test_parameters_change_what_follows_from_them_and_keep_the_other_overrides() -> None:
    start = isa.load("gemmini", {"SPAD_KB": 128})
    changed = with_parameters(start, {"MEM_LATENCY": 7})
    assert changed == isa.load("gemmini", {"SPAD_KB": 128, "MEM_LATENCY": 7})
    assert changed.dram.settings["latency"] == 7


@pytest.mark.parametrize("parameters", [{"LATENCY": 3}, {"HOST": 2}])
def test_parameters_that_the_description_does_not_allow_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(AutocompError):
        with_parameters(MACHINE, parameters)


def test_machines_of_other_settings_share_what_follows_from_semantics() -> None:
    assert all(contractions(other) is contractions(MACHINE) for other in usual_conditions(MACHINE).values())
    (unit, *_) = MACHINE.units
    other = with_settings(MACHINE, {f"{unit.name}.kind": "serial"})
    assert contractions(other) is not contractions(MACHINE)
