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

# Where cycles are meant, and not the objective of whatever target there is.
OF_CYCLES = {
    "of records of earlier versions": ("schedules/record.py",),
    "of sweeps over simulated machines": (
        "search/explore.py",
        "report/explore.py",
        "report/explore.svg.j2",
        "cli/commands/explore.py",
    ),
    "of profiles, whose clock is the machine's": (
        *(
            "targets/profile.py",
            "report/profile.py",
            "report/over_time.py",
            "report/page/document.py",
            "workbench/tools.py",
        ),
        *(f"report/page/assets/{name}.js" for name in ("profile", "timeline", "resources", "source", "overview")),
    ),
    "of whole programs on simulated accelerators": ("cli/program.py",),
    "of drafts of simulated accelerators": (
        *("drafting/check.py", "drafting/draft.py", "cli/drafting.py", "agents/llm/templates/draft_system.j2"),
    ),
    "of models on simulated accelerators": (
        *("models/costs.py", "models/operations.py", "models/runtime.py", "models/search.py"),
        *("report/model.py", "cli/commands/model.py"),
    ),
    "of kernels for the vendor's header": (
        *("export/any_size.py", "export/blocks.py", "export/document.py", "export/host.py", "export/schedule.py"),
        *("export/source.py", "cli/commands/export.py"),
    ),
    "of the simulator beside the hardware": (
        *("report/fidelity.py", "cli/commands/fidelity.py", "cli/against.py", "cli/confirm.py"),
        *("cli/commands/simulate.py", "cli/explanation.py"),
    ),
    "in examples of a unit, and objectives by their names": (
        *("targets/evaluation.py", "cli/options.py", "cli/completion.py", "report/runs/listing.py"),
    ),
}


def test_nothing_but_the_target_constructs_its_judge_or_slices_its_stages() -> None:
    own = ROOT / "autocomp" / "targets"
    others = [path for path in (ROOT / "autocomp").rglob("*.py") if not path.is_relative_to(own)]
    assert not [path for path in others if CONSTRUCTS_A_JUDGE.search(path.read_text())]


def test_outside_of_the_targets_nothing_says_cycles_for_the_objective() -> None:
    package = ROOT / "autocomp"
    own = (package / "targets" / "simulator", package / "targets" / "triton")
    shown = [path for suffix in ("py", "js", "j2", "html") for path in package.rglob(f"*.{suffix}")]
    others = [path for path in shown if not any(path.is_relative_to(target) for target in own)]
    saying = {str(path.relative_to(package)) for path in others if re.search(r"(?i)cycle", path.read_text())}
    assert saying == {path for paths in OF_CYCLES.values() for path in paths}
