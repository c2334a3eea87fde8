"""From a folder of Verilog to a model that can be driven: verilated, compiled with our C ABI, kept by content.

A model is a folder `models/DIGEST` in the cache, written whole. `accelerators-ABI/NAME.model` names that of an
accelerator for one version of the C ABI, so that versions of this package do not take each other's models.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from autocomp.data import cache_folder, write_atomically
from autocomp.errors import ConfigError
from autocomp.targets.simulator.rtl.model.native import ABI_VERSION
from autocomp.targets.simulator.rtl.model.ports import Port, read_ports
from autocomp.targets.simulator.rtl.model.sources import Sources, find_sources
from autocomp.targets.simulator.rtl.model.toolchain import Toolchain, call, find_toolchain

HARNESS = Path(__file__).resolve().parent / "harness"
PREFIX = "Vmodel"  # the class that Verilator writes, as the harness includes it
LIBRARY = "model.so"
VERILATOR_FLAGS = (
    *("--cc", "--exe", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "--output-split", "20000"),
    *("-Wno-fatal", "-Wno-lint", "-Wno-style", "-DSYNTHESIS", "--prefix", PREFIX, "-o", LIBRARY),
)
COMPILER_FLAGS = "-O2 -std=c++20 -fPIC"


@dataclass(frozen=True)
class Face:
    """The code around a model that lets a driver load it. `sources` are C++ files; `generate` makes the text
    of the file `generated` from the ports, and is compiled too if that ends in .cpp."""

    name: str
    sources: tuple[Path, ...]
    generated: str
    generate: Callable[[Sequence[Port]], str]
    verilator_flags: tuple[str, ...] = ()
    compiler_flags: str = ""


def _port_table(ports: Sequence[Port]) -> str:
    return "".join(f"PORT({port.name}, {port.bits}, {str(port.is_input).lower()})\n" for port in ports)


NATIVE = Face("native", tuple(sorted(HARNESS.glob("*.cpp"))), "ports.inc", _port_table)


@dataclass(frozen=True)
class RtlModel:
    """A compiled model; `seconds` is how long it took to make, `macros` are the memories that were generated for it."""

    folder: str
    top: str
    verilog: str  # the folder it was made from
    files: int
    macros: tuple[str, ...]
    ports: tuple[Port, ...]
    verilator: str  # its version
    seconds: float
    fresh: bool = False  # made just now, not found in the cache

    @property
    def library(self) -> Path:
        return Path(self.folder) / LIBRARY


_MODEL: TypeAdapter[RtlModel] = TypeAdapter(RtlModel)


def build(verilog: Path, top: str, jobs: int = 1, face: Face = NATIVE) -> RtlModel:
    """The model of the module `top` in a folder of Verilog, from the cache if the same was built before.

    Raises ConfigError when a tool is missing, the folder lacks something, or a tool refuses the design.
    """
    tools = find_toolchain()
    sources = find_sources(verilog, top)
    folder = _models() / _digest(sources, tools, face)
    known = _read(folder)
    if known is not None:
        return known
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".building-"))
    try:
        model = _compile(sources, tools, face, work, folder, jobs)
        (work / "model.json").write_bytes(_MODEL.dump_json(model, indent=2))
        for made in ("obj", "macros"):
            shutil.rmtree(work / made)
        try:
            work.rename(folder)
        except OSError:  # another process was faster, or an entry is damaged
            shutil.rmtree(folder, ignore_errors=True)
            work.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return replace(model, fresh=True)


def use_for(accelerator: str, model: RtlModel) -> Path:
    """Note that `model` is the one of an accelerator, by its full name."""
    path = _entry(accelerator)
    write_atomically(path, Path(model.folder).name)
    return path


def model_of(accelerator: str) -> RtlModel:
    """The model noted for an accelerator. Raises ConfigError when none is, or it is gone from the cache."""
    try:
        digest = _entry(accelerator).read_text(encoding="utf-8").strip()
    except OSError:
        digest = ""
    model = _read(_models() / digest) if digest else None
    if model is None:
        raise ConfigError(
            f"there is no RTL model of {accelerator}",
            hint=f"make one: autocomp rtl build --verilog DIR --top MODULE --accelerator {accelerator}",
        )
    return model


def models() -> dict[str, RtlModel]:
    """The models noted for accelerators, by their names."""
    files = {path.stem: path for path in sorted(_accelerators().glob("*.model"))}
    named = {name: _read(_models() / path.read_text("utf-8").strip()) for name, path in files.items()}
    return {name: model for name, model in named.items() if model is not None}


def _models() -> Path:
    return cache_folder("rtl") / "models"


def _accelerators() -> Path:
    return cache_folder("rtl") / f"accelerators-{ABI_VERSION}"


def _entry(accelerator: str) -> Path:
    return _accelerators() / f"{accelerator}.model"


def _read(folder: Path) -> RtlModel | None:
    """The model of a folder, None if that is not a whole one."""
    try:
        model = _MODEL.validate_json((folder / "model.json").read_bytes())
    except (OSError, ValidationError):
        return None
    return replace(model, folder=str(folder)) if (folder / LIBRARY).is_file() else None


def _digest(sources: Sources, tools: Toolchain, face: Face) -> str:
    """Of all that a model follows from."""
    digest = hashlib.sha256()
    flags = (*VERILATOR_FLAGS, *face.verilator_flags, COMPILER_FLAGS, face.compiler_flags)
    for part in (sources.top, tools.version, tools.compiler, face.name, *flags, sources.generated):
        digest.update(part.encode() + b"\0")
    for path in (*sources.files, *sources.headers, *sorted(HARNESS.iterdir())):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:32]


def _compile(sources: Sources, tools: Toolchain, face: Face, work: Path, folder: Path, jobs: int) -> RtlModel:
    started = time.perf_counter()
    objects, macros, log = work / "obj", work / "macros", work / "build.log"
    kept = folder.parent / f"{folder.name}.failed.log"
    objects.mkdir()
    macros.mkdir()
    generated = []
    if sources.generated:
        generated = [macros / "macros.sv"]
        generated[0].write_text(sources.generated, encoding="utf-8")
    includes = sorted({str(header.parent) for header in sources.headers} | {str(sources.folder)})
    verilate = [
        tools.verilator,
        *VERILATOR_FLAGS,
        *face.verilator_flags,
        *("--top-module", sources.top, "-Mdir", str(objects), "-CFLAGS", f"{COMPILER_FLAGS} {face.compiler_flags}"),
        *("-LDFLAGS", "-shared"),
        *(f"+incdir+{include}" for include in includes),
        *map(str, (*sources.files, *generated)),
        *map(str, face.sources),
        *([face.generated] if face.generated.endswith(".cpp") else []),
    ]
    call(verilate, log, f"verilator of {sources.top}", kept)
    ports = read_ports((objects / f"{PREFIX}.h").read_text(encoding="utf-8"))
    (objects / face.generated).write_text(face.generate(ports), encoding="utf-8")
    compile_model = [tools.make, "-C", str(objects), "-f", f"{PREFIX}.mk", f"-j{jobs}", "OPT_FAST=-O2", "OPT_SLOW=-O1"]
    call([*compile_model, f"CXX={tools.compiler}", f"LINK={tools.compiler}"], log, "the compilation of the model", kept)
    shutil.copy(objects / LIBRARY, work / LIBRARY)
    return RtlModel(
        folder=str(folder),
        top=sources.top,
        verilog=str(sources.folder),
        files=len(sources.files),
        macros=sources.macros,
        ports=ports,
        verilator=tools.version,
        seconds=time.perf_counter() - started,
    )
