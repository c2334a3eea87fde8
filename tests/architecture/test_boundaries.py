"""Rules about the shape of the code that the import linter cannot see."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("path", sorted((ROOT / "simulator").glob("*.py*")), ids=lambda p: p.name)
def test_the_simulator_knows_nothing_of_the_rest_of_the_package(path: Path) -> None:
    foreign = {n for n in imported_modules(path) if n.startswith("autocomp") and not n.startswith("autocomp.simulator")}
    assert not foreign


ABSOLUTE_PATH = re.compile(r"""["'](/[a-z_]+){2,}""")


@pytest.mark.parametrize("name", ["autocomp", "simulator"])
def test_no_module_names_a_path_of_one_machine(name: str) -> None:
    for path in (ROOT / name).rglob("*.py"):
        assert not ABSOLUTE_PATH.search(path.read_text()), path


CONSTRUCTS_A_JUDGE = re.compile(r"\bSimulatorEvaluator\b|\bSTAGES\s*\[")
OF_CYCLES = {"explore.py", "record.py"}  # sweeps over simulated machines; records of earlier versions


def test_nothing_but_the_target_constructs_its_judge_or_slices_its_stages() -> None:
    own = ROOT / "autocomp" / "targets"
    others = [path for path in (ROOT / "autocomp").rglob("*.py") if not path.is_relative_to(own)]
    assert not [path for path in others if CONSTRUCTS_A_JUDGE.search(path.read_text())]


def test_search_and_agents_say_the_objective_and_not_cycles() -> None:
    for folder in ("search", "agents", "schedules"):
        for path in (ROOT / "autocomp" / folder).rglob("*.py"):
            if path.name not in OF_CYCLES:
                assert "cycles" not in path.read_text(), path
