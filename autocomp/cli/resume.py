"""`autocomp resume`: continue a run that was interrupted or killed."""

from __future__ import annotations

from pathlib import Path

import click

from autocomp.cli.options import cache_option, executor_option, output_options, warn, workers_option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@workers_option
@executor_option
@cache_option
@output_options
def resume(run: Path, workers: int | None, executor: str | None, cache: bool, as_json: bool, plain: bool) -> None:
    """Continue the search in the folder RUN to the same result as if it had not been interrupted."""
    from autocomp.cli.session import search_and_report
    from autocomp.search import RunFolder
    from autocomp.search.executor import available_cores
    from autocomp.search.session import Means
    from autocomp.search.snapshot import restore, version_changes

    folder = RunFolder.open(run)
    request = restore(folder)
    changes = version_changes(folder.snapshot())
    if changes:
        warn(f"the run started with other versions ({', '.join(changes)}): what is new may differ")
    means = Means(workers or available_cores(), executor, cache)
    search_and_report(folder, request, means=means, as_json=as_json, plain=plain)
