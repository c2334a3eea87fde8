"""Timing keys that mean nothing are refused, with advice."""

from __future__ import annotations

import pytest
from autocomp.simulator import _core

from autocomp.errors import IsaError
from autocomp.targets.simulator import isa
from autocomp.targets.simulator.isa.timing import (
    KINDS,
    MEMORY_KEYS,
    PROPERTY_KEYS,
    ROLES,
    SECTION_KEYS,
    UNIT_KEYS,
    reference_table,
)
from autocomp.targets.simulator.stalls import BUSY, STALLS

MACHINE = "accelerator m {{ memory dram {{ kind: dram; {dram} }} memory s {{ rows: 8; row: i8[4]; {memory} }} {rest} }}"
COPY = "instruction f(n: int 0..4) {on} {{ timing {{ {timing} }} }}"


def parse(dram: str = "", memory: str = "", unit: str = "", timing: str = "", on: str = "on u", rest: str = "") -> None:
    text = f"unit u {{ {unit} }} {rest} " + COPY.format(on=on, timing=timing)
    isa.parse(MACHINE.format(dram=dram, memory=memory, rest=text), "m.isa")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"unit": "entry: 4;"}, "did you mean entries"),
        ({"unit": "kind: magic;"}, "expected serial"),
        ({"unit": "entries: many;"}, "expected a number"),
        ({"unit": "kind: serial; scale_slots: 2;"}, "kind serial has no setting 'scale_slots'"),
        ({"dram": "latencies: 4;"}, "did you mean latency"),
        ({"memory": "ports: triple;"}, "expected shared, separate"),
        ({"memory": "shared_adders: 2;"}, "shared_adders is 2; expected 0 or 1"),
        ({"memory": "bus: 8;"}, "'bus' has no meaning here; it is for dram memory, and this is local memory"),
        ({"dram": "ports: shared;"}, "'ports' has no meaning here; it is for local memory, and this is dram memory"),
        ({"dram": "bus: 0;"}, "bus is 0; expected 1 to 67108864"),
        ({"rest": "register r { rows: 1; row: i8[4]; ports: shared; }"}, "this is a register"),
        ({"timing": "bussy: n;"}, "did you mean busy"),
        ({"timing": "role: dance;"}, "expected work"),
        ({"timing": "passes: n;"}, "no meaning in a serial unit"),
        ({"timing": "role: fence;"}, "without a unit"),
        ({"timing": "role: wait;"}, "needs `semaphore:`"),
        ({"unit": "queue: 0;"}, "queue is 0; expected 1 to 67108864"),
        ({"unit": "entries: 1025;"}, "1025 entries in all; expected at most 1024"),
        ({"unit": "kind: transfer_in; request_min: 24;"}, "request_min is 24; expected a power of two"),
        ({"unit": "kind: transfer_in; request_max: 8;"}, "request_max is 8; expected at least request_min, 16"),
        ({"unit": "kind: transfer_out; requests: 1;"}, "requests is 1; expected 2 or more"),
        ({"rest": "front { xyz: 2; }"}, "known: queue, latency, width"),
    ],
)
def test_what_means_nothing_is_refused(parts: dict[str, str], message: str) -> None:
    with pytest.raises(IsaError, match=message) as caught:
        parse(**parts)
    assert caught.value.place is not None
    assert caught.value.place.source == "m.isa"


def test_one_request_is_enough_where_it_is_one_beat() -> None:
    parse(unit="kind: transfer_out; requests: 1; request_max: 16;")


def test_every_key_is_documented() -> None:
    assert all(meaning for _, _, meaning, _ in reference_table())


def test_all_that_the_core_reads_has_its_words() -> None:
    core = _core.timing_schema()
    assert set(KINDS) == set(core["kinds"])
    assert set(ROLES) == set(core["roles"])
    assert {BUSY, *STALLS} >= set(core["causes"]) - {"Idle"}
    sections = {"unit": UNIT_KEYS, "property": PROPERTY_KEYS, "dram": MEMORY_KEYS, "local": MEMORY_KEYS, **SECTION_KEYS}
    for (place, key), (default, least) in core["numbers"].items():
        assert (sections[place][key].default, sections[place][key].low) == (default, least), f"{place}.{key}"
