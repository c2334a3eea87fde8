"""`autocomp resume`: continue a run that was interrupted or killed."""

from __future__ import annotations

from pathlib import Path

import click

from autocomp.cli.options import cluster_option, output_options, warn, workers_option


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@workers_option
@cluster_option
@output_options
def resume(run: Path, workers: int | None, cluster: str | None, as_json: bool, plain: bool) -> None:
    """Continue the search in the folder RUN to the same result as if it had not been interrupted."""
    from autocomp.cli.session import search_and_report
    from autocomp.search import RunFolder
    from autocomp.search.snapshot import restore, version_changes

    folder = RunFolder.open(run)
    request = restore(folder)
    changes = version_changes(folder.snapshot())
    if changes:
        warn(f"the run started with other versions ({', '.join(changes)}): what is new may differ")
    search_and_report(folder, request, workers=workers, cluster=cluster, as_json=as_json, plain=plain)
