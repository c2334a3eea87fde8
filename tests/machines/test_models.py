"""Random programs of every machine that ships: recognised forms, interpreter and a NumPy model of our own agree on
every byte of DRAM. The model is written from the machine's public documents. At the end of a program all local memories
go to DRAM."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from autocomp.simulator import SimulationOptions, run_program

from autocomp.targets.simulator import isa
from tests.machines.models import amx, neuroncore, rvv, tpu_v1, vta
from tests.simulator.machines import Command, issue_all

MODELS: dict[str, ModuleType] = {"amx": amx, "neuroncore": neuroncore, "rvv": rvv, "tpu_v1": tpu_v1, "vta": vta}
FEW, MANY = 12, 1000
VECTORS = Path(__file__).parent / "vectors"


@cache
def tables(name: str) -> isa.MachineTables:
    return isa.lower(isa.load(name, MODELS[name].SIZES))


def digest(memory: np.ndarray) -> str:
    return hashlib.sha256(memory.tobytes()).hexdigest()[:16]


def modelled(name: str, seed: int) -> np.ndarray:
    """DRAM after a random program, by the NumPy model."""
    module = MODELS[name]
    random = np.random.default_rng([seed, len(name)])
    model = module.Model(module.prepare(module.memory(random)))
    for call, arguments in module.program(random):
        model.execute(call, arguments)
    return model.dram.bytes


def simulated(name: str, seed: int, options: SimulationOptions) -> np.ndarray:
    module = MODELS[name]
    random = np.random.default_rng([seed, len(name)])
    memory = module.prepare(module.memory(random))
    commands = [Command(tables(name).instructions[call], arguments) for call, arguments in module.program(random)]
    program = issue_all(tables(name).machine, commands, [("memory", "u8", (module.BYTES,))])
    result = run_program(tables(name).machine, program, {"memory": memory}, options)
    assert result.error is None, result.error
    return result.outputs["memory"]


def vectors(name: str) -> dict[str, str]:
    """Digests of DRAM after programs, by seed: what the NumPy model computed."""
    return json.loads((VECTORS / f"{name}.json").read_text())


@pytest.mark.parametrize("name", MODELS)
def test_the_vectors_hold(name: str) -> None:
    for seed in range(FEW):
        assert digest(simulated(name, seed, SimulationOptions(timing=seed % 2 == 0))) == vectors(name)[str(seed)], seed


@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter_and_the_model_agree(name: str) -> None:
    for seed in range(3):
        generic = simulated(name, seed, SimulationOptions(timing=False, generic=True))
        assert np.array_equal(generic, modelled(name, seed)), seed


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_thousand_random_programs_agree_with_the_model(name: str, request: pytest.FixtureRequest) -> None:
    found = {}
    for seed in range(MANY):
        expected = modelled(name, seed)
        assert np.array_equal(simulated(name, seed, SimulationOptions(timing=False)), expected), seed
        found[str(seed)] = digest(expected)
    if request.config.getoption("--update-golden"):
        VECTORS.mkdir(exist_ok=True)
        (VECTORS / f"{name}.json").write_text(json.dumps(found, indent=0) + "\n")
    assert found == vectors(name)
