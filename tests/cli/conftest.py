"""A command line whose searches are over the toy problem of tests/search: no simulator, no time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parents[1] / "search"))


@pytest.fixture
def autocomp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command in an empty working directory, with a schedule store of its own."""
    from autocomp.cli.entry import autocomp as command

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOCOMP_SCHEDULES", str(tmp_path / "store"))
    monkeypatch.delenv("AUTOCOMP_PATH", raising=False)
    return lambda *arguments: CliRunner().invoke(command, [str(a) for a in arguments], prog_name="autocomp")


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every workload is the toy problem."""
    from toy_search import Toy

    from autocomp.search import session

    monkeypatch.setattr(
        session,
        "make_problem",
        lambda request, agents, judge_seed: Toy(tmp_path, request.options, words=("tile", "hoist")).problem(),
    )
