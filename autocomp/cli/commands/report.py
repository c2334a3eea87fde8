"""`autocomp report`: a run as one page for a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from autocomp.cli.options import json_option, print_json, say


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="The page (default: RUN/report.html).")
@click.option(
    "--timelines",
    type=click.IntRange(min=0),
    default=4,
    show_default=True,
    help="Number of fastest kernels to profile, beside the best and the starting one; 0 profiles none.",
)
@click.option("--timeline", "wanted", metavar="ID", type=int, multiple=True, help="A candidate to profile; repeatable.")
@click.option("--live", is_flag=True, help="Serve the page on loopback while the search runs, and keep it up to date.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port for --live (default: a free one).")
@json_option
def report(
    run: Path, output: Path | None, timelines: int, wanted: tuple[int, ...], live: bool, port: int, as_json: bool
) -> None:
    """Write the run in the folder RUN as one HTML page, which needs no network.

    The page has profiles and timelines of the best kernel, the starting kernel and the fastest ones; with --live, of
    every kernel.
    """
    from autocomp.report.page import LOOPBACK, serve, write_page
    from autocomp.search import RunFolder

    folder = RunFolder.open(run)
    if live:
        if output or wanted:
            raise click.UsageError(
                "--live serves the page, with every profile and timeline: it takes no --output and no --timeline"
            )
        with serve(folder, port) as server:
            address = f"http://{LOOPBACK}:{server.server_port}/"
            _tell(as_json, {"address": address}, f"{address} (Ctrl-C ends it)")
            server.serve_forever()
    else:
        page = output or folder.path / "report.html"
        write_page(folder, page, timelines, wanted)
        size = page.stat().st_size
        _tell(as_json, {"page": str(page), "bytes": size}, f"{page} ({size / 1024:,.0f} KiB)")


def _tell(as_json: bool, document: dict[str, Any], text: str) -> None:
    if as_json:
        print_json(document)
    else:
        say(text)
