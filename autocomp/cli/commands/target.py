"""`autocomp target`: what a device is, and what it reaches."""

from __future__ import annotations

from pathlib import Path

import click

from autocomp.cli.options import CommandGroup, output_options, path_option, print_json, show_content, trust_option
from autocomp.errors import ConfigError


@click.group(cls=CommandGroup)
def target() -> None:
    """Measure a device, for the bounds of kernels on it."""


@target.command()
@click.argument("device", default="triton", metavar="[KIND[:MACHINE]]")
@trust_option
@path_option
@output_options
def probe(device: str, trust: bool, paths: tuple[Path, ...], as_json: bool, plain: bool) -> None:
    """Measure the peaks of a GPU (as --target names it; default: triton, the first GPU), and keep them for searches:
    the bandwidth of a copy, products by data type, an empty launch."""
    from autocomp.targets.registry import load_target
    from autocomp.targets.triton.target import TritonTarget

    loaded = load_target(device, paths=paths, trust=trust)
    if not isinstance(loaded, TritonTarget):
        raise ConfigError(
            f"{device} has nothing to measure: its peaks are in its description", hint="name a GPU, as `triton:cuda:0`"
        )
    document = loaded.probe()
    if as_json:
        print_json(document)
        return
    lines = [f"{key}: {_shown(value)}" for key, value in document.items()]
    show_content("\n".join(lines) + "\n")


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, list):
        return ".".join(str(part) for part in value)
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
