"""`autocomp resume`: continue a run that was interrupted or killed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from autocomp.cli.agents import agent_options
from autocomp.cli.confirm import confirm_option
from autocomp.cli.options import means_options, output_options, trust_option, warn

if TYPE_CHECKING:
    from autocomp.agents.config import Agents
    from autocomp.search.session import Means


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@agent_options
@click.option(
    "--tokens", type=click.IntRange(min=0), default=None, help="Stop each run after this many tokens of its models."
)
@click.option(
    "--money",
    type=click.FloatRange(min=0),
    default=None,
    help="Stop each run when its models' tokens have cost this much.",
)
@means_options
@confirm_option
@trust_option
@output_options
def resume(
    runs: tuple[Path, ...],
    agents: Agents,
    tokens: int | None,
    money: float | None,
    means: Means,
    confirm: str | None,
    trust: bool,
    as_json: bool,
    plain: bool,
) -> None:
    """Continue the searches in the folders RUN to the same results as if they had not been interrupted.

    Runs that shared a budget continue to do so if they are given together, in their order. The models of a run that
    somebody else began are asked only if you name them, as for `autocomp search`. The folder also states their budgets;
    --tokens and --money replace them for the whole run, from its beginning.
    """
    from autocomp.cli.session import search_and_report
    from autocomp.schedules.store import Store, user_root
    from autocomp.search import RunFolder
    from autocomp.search.budget import Budget
    from autocomp.search.log.snapshot import check_judge, granted, restore, version_changes

    runs_left = [(folder, granted(restore(folder, trust), folder, agents)) for folder in map(RunFolder.open, runs)]
    for folder, request in runs_left:
        changes = version_changes(folder.snapshot())
        if changes:
            warn(f"{folder.path} started with other versions ({', '.join(changes)}): what is new may differ")
        judged = check_judge(folder, request)
        if judged:
            warn(f"{folder.path}: {judged}")
    Store(user_root()).require_writable()
    most = Budget(tokens=tokens, money=money)
    search_and_report(runs_left, means, confirm=confirm, as_json=as_json, plain=plain, resumed=True, most=most)
