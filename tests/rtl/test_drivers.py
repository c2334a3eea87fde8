"""Both drivers give the same values for the same vectors, and the batched loop what they give cycle by cycle."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.rtl.model.build import RtlModel, build
from autocomp.targets.simulator.rtl.model.driver import reset
from autocomp.targets.simulator.rtl.model.interface import begin, find_interface
from autocomp.targets.simulator.rtl.model.native import EncodedCommands, MemoryConditions, NativeDriver, RtlRun, Strays
from autocomp.targets.simulator.rtl.model.pyverilator_driver import open_pyverilator

from .conftest import COPIER

pytestmark = pytest.mark.rtl
SOURCE, TARGET = 0x8000_0000, 0x8000_1000
FENCE = None


def commands(*amounts: int | None) -> EncodedCommands:
    """A copy of block i for the i-th of the amounts; None for a fence."""
    machine = isa.load(COPIER / "copier.isa")

    def encoded(block: int, amount: int | None) -> tuple[int, ...]:
        if amount is FENCE:
            return (0, 0, 0)
        operands = {"src": SOURCE + 16 * block, "dst": TARGET + 16 * block, "amount": amount}
        return tuple(isa.encode_command(machine, "copy", operands).values())

    words = np.array([encoded(*pair) for pair in enumerate(amounts)], np.uint64)
    fences = np.array([amount is FENCE for amount in amounts], np.uint8)
    return EncodedCommands(words, np.zeros(len(amounts), np.int64), fences)


def run(
    model: RtlModel,
    batch: EncodedCommands,
    *,
    latency: int = 10,
    bandwidth: int = 16,
    room: int = 64,
    most: int = 9999,
    guard: int = 0,
) -> tuple[RtlRun, npt.NDArray[np.uint8]]:
    """The batch on a fresh design, and the target of the copies, a tensor of `room` bytes."""
    interface = find_interface(model.ports, isa.load(COPIER / "copier.isa"))
    driver = NativeDriver(model.library)
    begin(driver, interface)
    source, target = np.arange(64, dtype=np.uint8), np.zeros(room, np.uint8)
    conditions = MemoryConditions(latency, bandwidth, most, guard)
    found = driver.run(interface, batch, [(SOURCE, source), (TARGET, target)], conditions)
    driver.close()
    return found, target


def test_drivers_agree_on_random_vectors(copier: RtlModel) -> None:
    drivers = [NativeDriver(copier.library), open_pyverilator(COPIER, "Copier")]
    native, _ = drivers
    assert all(driver.ports == native.ports for driver in drivers)
    numbers = random.Random(5)
    for driver in drivers:
        reset(driver)
    for _ in range(300):
        vector = {
            port.name: numbers.getrandbits(port.bits)
            for port in native.ports.values()
            if port.is_input and port.name not in ("clock", "reset")
        }
        seen = []
        for driver in drivers:
            for name, value in vector.items():
                driver.poke(name, value)
            before = {name: driver.peek(name) for name in driver.ports}
            driver.step()
            seen.append((before, {name: driver.peek(name) for name in driver.ports}))
        assert seen[0] == seen[1]


def test_drivers_run_until_an_output_has_a_value(copier: RtlModel) -> None:
    for driver in (NativeDriver(copier.library), open_pyverilator(COPIER, "Copier")):
        reset(driver)
        assert driver.run_until("io_busy", 1, 5) is None
        for name, value in {"io_cmd_valid": 1, "io_cmd_bits_inst_funct": 1, "io_cmd_bits_status_prv": 3}.items():
            driver.poke(name, value)
        assert driver.run_until("io_busy", 1, 5) == 1
        with pytest.raises(ValueError, match="does not fit"):
            driver.poke("io_cmd_bits_inst_funct", 128)
        with pytest.raises(ValueError, match="is an output"):
            driver.poke("io_busy", 1)
        with pytest.raises(ValueError, match="no port"):
            driver.peek("nothing")


@pytest.mark.parametrize("latency", [1, 10, 40])
def test_a_batch_takes_the_latency_of_two_requests(copier: RtlModel, latency: int) -> None:
    found, target = run(copier, commands(3, 250), latency=latency)
    assert found.status == "done"
    assert np.array_equal(target[:32], (np.arange(32) + np.repeat([3, 250], 16)) % 256)
    # taken; the read asked for, and its data after the latency; looked up; written, and acknowledged after the latency
    assert found.segment_cycles == (2 * (1 + (1 + latency) + 1 + (1 + latency)),)


def test_a_memory_of_half_the_bandwidth_delays_what_follows_a_beat(copier: RtlModel) -> None:
    full, _ = run(copier, commands(1, 2), latency=1)
    half, target = run(copier, commands(1, 2), latency=1, bandwidth=4)
    assert np.array_equal(target[:32], np.arange(32) + np.repeat([1, 2], 16))
    assert half.cycles > full.cycles


def test_a_fence_ends_a_segment(copier: RtlModel) -> None:
    whole, _ = run(copier, commands(1, 1))
    parts, _ = run(copier, commands(1, FENCE, 1))
    assert sum(parts.segment_cycles) == sum(whole.segment_cycles) == whole.cycles - 1
    assert len(parts.segment_cycles) == 2


def test_a_write_outside_every_tensor_is_caught(copier: RtlModel) -> None:
    found, _ = run(copier, commands(1, 1), room=16)
    assert found.status == "memory"
    assert "a write of 16 bytes" in found.message
    assert found.accepted == 2


def test_accesses_of_guard_memory_are_counted_and_change_no_tensor(copier: RtlModel) -> None:
    beyond = 64 // 16  # blocks of the source
    found, target = run(copier, commands(*[1] * (beyond + 2)), room=96, guard=32)
    assert (found.status, found.writes) == ("done", Strays())
    assert found.reads == Strays(2, SOURCE + 64)
    assert set(target[64:]) == {0xA5 + 1}
    found, target = run(copier, commands(1, 1), room=16, guard=16)
    assert (found.status, found.reads, found.writes) == ("done", Strays(), Strays(16, TARGET + 16))


def test_accesses_beyond_the_guard_memory_end_a_run(copier: RtlModel) -> None:
    found, _ = run(copier, commands(*[1] * 6), room=96, guard=16)
    assert found.status == "memory"
    assert "far from every tensor" in found.message


def test_a_design_that_does_not_end_is_cut_off(copier: RtlModel) -> None:
    found, _ = run(copier, commands(1), most=7)
    assert (found.status, found.steps) == ("cycles", 7)


def test_the_same_sources_are_built_once(copier: RtlModel, tmp_path: Path) -> None:
    assert not build(COPIER, "Copier").fresh or copier.fresh
    assert build(COPIER, "Copier").library == copier.library
