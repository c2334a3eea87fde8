"""`autocomp mcp`: a coding agent optimises a kernel by itself, before our judge."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from autocomp.cli.folding import model_options
from autocomp.cli.options import path_option, say, set_option, target_option, trust_option
from autocomp.cli.problem import load_problem
from autocomp.search.options import Options

RUNS = Path("runs")
LOOPBACK = "127.0.0.1"


@click.command()
@click.argument("workload", required=False)
@model_options(Options, "options", only=("evaluations",), defaults={"evaluations": 60})
@click.option("--http", "port", type=click.IntRange(1, 65535), default=None, help="Serve streamable HTTP on this port.")
@click.option(
    "--run-dir",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder of the run (default: runs/...); an existing one is continued.",
)
@trust_option
@target_option
@set_option
@path_option
def mcp(
    workload: str | None,
    options: Options,
    port: int | None,
    run_dir: Path | None,
    trust: bool,
    target_spec: str | None,
    overrides: dict[str, int | float],
    paths: tuple[Path, ...],
) -> None:
    """Let a coding agent search for the fastest correct kernel of WORKLOAD, over the Model Context Protocol.

    The agent gets tools to check, evaluate, profile, explain and transform kernels, and to submit the best one. It
    speaks on standard input and output, or with --http on a port of this computer. All that happens is in the run
    folder, for `autocomp report` and `autocomp runs`; without WORKLOAD, --run-dir names one to continue.
    """
    from autocomp.agents.config import Agents, Member
    from autocomp.cli.session import keep
    from autocomp.errors import ConfigError
    from autocomp.mcp.server import require_sdk, serve
    from autocomp.search.log.folder import RunFolder, new_run_path
    from autocomp.search.log.snapshot import Request, create, restore
    from autocomp.search.strategies import OUTSIDE
    from autocomp.targets.menu_file import for_target
    from autocomp.workbench.session import Session
    from autocomp.workload import require_trusted

    require_sdk()  # before a run folder is made
    if run_dir is not None and (run_dir / "config.json").exists():
        folder = RunFolder.open(run_dir)
        request = restore(folder, trust)
        require_trusted(request.workload)
    elif workload is None:
        raise ConfigError("no workload is given", hint="autocomp mcp WORKLOAD, or --run-dir with a run to continue")
    else:
        loaded, target = load_problem(workload, paths, overrides, target_spec, trust=trust)
        require_trusted(loaded)
        menu = for_target((), loaded, target, paths)
        agents = Agents((Member(OUTSIDE),))
        now = datetime.now().astimezone()
        request = Request(loaded, target, menu, agents, options, OUTSIDE)
        folder = create(run_dir or new_run_path(RUNS, loaded.name, now), request, now)

    def note(message: str) -> None:
        say(message, err=True)  # standard output belongs to the protocol

    session = Session(request, folder, keep)
    note(f"{request.workload.name} on {request.target.name}, run folder {folder.path}")
    try:
        serve(session, note, LOOPBACK, port)
    finally:
        session.close()
