"""Simulator against hardware: our design agrees, and a description that lies is found out with a minimal case."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from autocomp.targets.simulator import isa
from autocomp.targets.simulator.rtl.differential import RESULTS, Differential
from autocomp.targets.simulator.rtl.model.build import RtlModel, use_for

from .conftest import COPIER

pytestmark = pytest.mark.rtl
BOUND = 0.1


@pytest.fixture
def autocomp(rtl_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    from autocomp.cli.entry import autocomp as command

    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(command, [str(a) for a in arguments], prog_name="autocomp")


def test_random_programs_agree_with_our_design(quad: RtlModel, tmp_path: Path) -> None:
    found = list(Differential(isa.load("quad"), quad, BOUND).random_programs(12, 100, 40, tmp_path))
    assert [comparison.difference for comparison in found] == [""] * 12
    assert not list(tmp_path.iterdir())


def test_a_lie_is_shrunk_to_one_command_that_stays_as_a_case(copier: RtlModel, tmp_path: Path) -> None:
    lying = tmp_path / "copier.isa"
    lying.write_text((COPIER / "copier.isa").read_text().replace("+ amount)", "+ (amount < 16 ? amount : 0))"))
    differential = Differential(isa.load(lying), copier, 10.0)
    found = [c for c in differential.random_programs(3, 0, 30, tmp_path / "cases") if c.difference]
    assert found
    assert {comparison.difference for comparison in found} == {RESULTS}
    for comparison in found:
        lines = [line for line in Path(comparison.case).read_text().splitlines() if line.startswith("    ")]
        assert len([line for line in lines if line != "    fence();"]) == 1
        assert differential.case(Path(comparison.case)).difference == RESULTS
    honest = Differential(isa.load(COPIER / "copier.isa"), copier, 10.0)
    assert not any(honest.case(Path(comparison.case)).difference for comparison in found)


def test_the_command_reports_differences_with_an_exit_code(
    copier: RtlModel, autocomp: Callable[..., Result], tmp_path: Path
) -> None:
    use_for("copier", copier)
    again = ("--against", "rtl", "--accelerator", COPIER / "copier.isa")
    done = autocomp("fidelity", tmp_path / "cases", *again, "--random", 2, "--length", 5, "--bound", 10, "--json")
    assert done.exit_code == 0, done.output
    assert len(json.loads(done.stdout)["programs"]) == 2
    done = autocomp("fidelity", tmp_path / "cases", *again, "--random", 2, "--length", 5, "--bound", 0)
    assert done.exit_code == 9  # the description gives each copy a cycle
    assert "differ between the simulator and the hardware description" in done.stderr
    assert "cycles differ" in done.stdout


def test_programs_are_reported_as_they_end_until_the_time_is_over(
    copier: RtlModel, autocomp: Callable[..., Result], tmp_path: Path
) -> None:
    use_for("copier", copier)
    again = ("--against", "rtl", "--accelerator", COPIER / "copier.isa", "--length", 5, "--bound", 10)
    done = autocomp("fidelity", tmp_path / "cases", *again, "--random", 2)
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.stdout.splitlines()[:2]] == [["random", "0"], ["random", "1"]]
    assert "2 of 2 programs gave the same bytes" in done.stdout
    done = autocomp("fidelity", tmp_path / "cases", *again, "--random", 1000000, "--seconds", 0)
    assert done.exit_code == 0, done.output
    assert "no programs compared" in done.stdout
    assert "stopped after 0 seconds" in done.stdout


def test_a_parameter_of_the_machine_can_be_set(
    copier: RtlModel, autocomp: Callable[..., Result], tmp_path: Path
) -> None:
    use_for("copier", copier)
    again = ("--against", "rtl", "--accelerator", COPIER / "copier.isa", "--length", 5, "--bound", 10, "--random", 4)
    cycles = []
    for latency in (10, 100):
        done = autocomp("fidelity", tmp_path / "cases", *again, "--set", f"MEM_LATENCY={latency}", "--json")
        cycles.append(max(program["measured"] for program in json.loads(done.stdout)["programs"]))
    assert cycles[0] < cycles[1]


def test_measured_cases_are_measured_anew(copier: RtlModel, autocomp: Callable[..., Result], tmp_path: Path) -> None:
    use_for("copier", copier)
    (tmp_path / "traces").mkdir()
    with gzip.open(tmp_path / "traces" / "one.txt.gz", "wt") as file:
        file.write("copy src=0x1000 dst=0x2000 amount=1\nfence\ncopy src=0x1000 dst=0x2000 amount=1\nfence\n")
    (tmp_path / "cycles.csv").write_text("case_id,group,mem_latency,cycles\none,a,10,1\n")
    arguments = ("--against", "rtl", "--accelerator", COPIER / "copier.isa", "--random", 0, "--json")
    done = autocomp("fidelity", tmp_path, *arguments)
    assert done.exit_code == 0, done.output
    (case,) = json.loads(done.stdout)["cases"]
    assert case["cycles"] == 2 * (1 + 10) + 2  # as in test_drivers.py, for the last segment alone
