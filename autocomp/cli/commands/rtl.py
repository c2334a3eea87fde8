"""`autocomp rtl`: models of an accelerator's hardware description, for `--evaluator rtl` and its like."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from autocomp.cli.options import CommandGroup, output_options, path_option, print_json

if TYPE_CHECKING:
    from autocomp.targets.simulator.rtl.model.build import RtlModel


@click.group(cls=CommandGroup)
def rtl() -> None:
    """Build and list models of hardware descriptions (Verilog), made with Verilator."""


@rtl.command()
@click.option("--verilog", required=True, type=click.Path(path_type=Path), help="Folder of the generated Verilog.")
@click.option("--top", required=True, help="Module with the command port and the TileLink port.")
@click.option("--accelerator", required=True, help="Accelerator of the design: a name, name:configuration, or a file.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Number of compilers at a time.")
@path_option
@output_options
def build(
    verilog: Path, top: str, accelerator: str, jobs: int, paths: tuple[Path, ...], as_json: bool, plain: bool
) -> None:
    """Verilate and compile the module TOP of a folder, and use it for an accelerator from now on.

    Models are kept in the user's cache folder, by the content of their sources.
    """
    from autocomp.report import make_console
    from autocomp.targets.simulator import isa
    from autocomp.targets.simulator.rtl.model.build import build as build_model
    from autocomp.targets.simulator.rtl.model.build import use_for
    from autocomp.targets.simulator.rtl.model.interface import find_interface

    machine = isa.load(accelerator, {}, paths)
    console = make_console(sys.stderr if as_json else sys.stdout, plain or as_json)
    with console.status(f"verilating and compiling {top}; minutes, for a large design"):
        model = build_model(verilog, top, jobs)
    interface = find_interface(model.ports, machine)
    use_for(machine.full_name, model)
    if as_json:
        print_json({"accelerator": machine.full_name, **_document(model), "bus_bytes": interface.bus_bytes})
        return
    made = f"made in {model.seconds:.0f} s" if model.fresh else "taken from the cache"
    console.print(f"{_described(model)}; {made} with {model.verilator}", markup=False)
    master = interface.roles["a_valid"].removesuffix("_a_valid")
    words = ", ".join(f"{name} on {port}" for name, port in interface.words.items())
    console.print(f"TileLink {master}, {8 * interface.bus_bytes} bits; commands: {words}", markup=False)
    console.print(f"it is now the RTL model of {machine.full_name}: autocomp run KERNEL --evaluator rtl", markup=False)


@rtl.command("list")
@output_options
def list_(as_json: bool, plain: bool) -> None:
    """List the models that accelerators have."""
    from autocomp.report import make_console
    from autocomp.targets.simulator.rtl.model.build import models

    built = models()
    if as_json:
        print_json([{"accelerator": name, **_document(model)} for name, model in built.items()])
        return
    console = make_console(sys.stdout, plain)
    for name, model in built.items():
        console.print(f"{name}: {_described(model)}", markup=False)
    if not built:
        console.print("no RTL models; autocomp rtl build makes one")


def _described(model: RtlModel) -> str:
    macros = f", memory macros generated: {', '.join(model.macros)}" if model.macros else ""
    return f"{model.top} of {model.verilog}, {model.files} files, {len(model.ports)} ports{macros}"


def _document(model: RtlModel) -> dict[str, Any]:
    return {
        "top": model.top,
        "verilog": model.verilog,
        "files": model.files,
        "macros": list(model.macros),
        "ports": [{"name": port.name, "bits": port.bits, "input": port.is_input} for port in model.ports],
        "verilator": model.verilator,
        "seconds": model.seconds,
        "cached": not model.fresh,
        "folder": model.folder,
    }
