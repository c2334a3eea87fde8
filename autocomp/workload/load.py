"""From a workload file to a `Workload`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from autocomp.data import find
from autocomp.errors import ConfigError
from autocomp.workload import parsing, schema
from autocomp.workload.convolution import Convolution, convolution
from autocomp.workload.datatypes import data_type
from autocomp.workload.layout import Layout, operand_layouts
from autocomp.workload.model import TensorSpec, Tolerance, Workload
from autocomp.workload.tensor import operation

MAX_TENSOR_BYTES = 1 << 30  # of all tensors; an evaluation holds several sets of them
MAX_DEVICE_BYTES = 24 << 30  # of operations whose inputs are drawn in a device's own memory
Read = Callable[[str, str], str]  # the text of a file that a workload names: its key there, and its name


def load(
    name_or_path: str | Path,
    extra_paths: Sequence[Path] = (),
    overrides: Mapping[str, int | float] | None = None,
) -> Workload:
    """The workload of a file, or of a bare name found as `autocomp.data.find` says.

    `overrides` are parameters of the machine and win over the file's own `set`. Raises ConfigError.
    """
    path = find("workloads", str(name_or_path), ".yaml", extra_paths)
    return parse(parsing.read(path), path, overrides)


def stated(document: Mapping[str, Any], overrides: Mapping[str, int | float] | None = None) -> Workload:
    """The workload with the keys and values of a workload file. Numbers may be NumPy's. Messages show it as a file that
    is named after its operation and sizes, and files that it names are looked up in the working directory.

    Raises ConfigError.
    """
    try:
        text = json.dumps(dict(document), indent=1, default=lambda value: value.item())
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"the workload {dict(document)!r:.200} holds what no file can say: {error}") from None
    dims = document.get("dims")
    sizes = (f"{name}{size}" for name, size in dims.items()) if isinstance(dims, Mapping) else ()
    return parse(text, Path("_".join([str(document.get("operation", "workload")), *sizes]) + ".yaml"), overrides)


def parse(
    text: str, path: Path, overrides: Mapping[str, int | float] | None = None, read: Read | None = None
) -> Workload:
    """The workload that `text` describes; `path` names it in messages and is where the files that it names are looked
    up, unless `read` gives their texts."""
    file = parsing.parse(text, str(path))
    workload = _build(file, path)
    names = {"kernel": file.kernel}
    if isinstance(file, schema.CustomFile):
        names["reference"] = file.reference.rsplit(":", 1)[0]
    read = read or (lambda key, name: _read_beside(path, key, name))
    files = {key: read(key, name) for key, name in names.items() if name is not None}
    workload = replace(
        workload,
        overrides={**file.set, **(overrides or {})},
        starting_kernel=files.get("kernel"),
        text=text,
        files=files,
    )
    on_device = isinstance(file, schema.TensorFile) or (isinstance(file, schema.CustomFile) and file.is_for_gpu)
    limit = MAX_DEVICE_BYTES if on_device else MAX_TENSOR_BYTES
    for tensor in workload.tensors:
        if tensor.bytes > limit:
            raise ConfigError(f"{path}: tensor {tensor.name!r} is {tensor.bytes} bytes, at most {limit}")
    total = sum(tensor.bytes for tensor in workload.tensors)
    if total > limit:
        raise ConfigError(f"{path}: the tensors are {total} bytes together, at most {limit}")
    return replace(workload, digest=digest(workload))


def _read_beside(path: Path, key: str, name: str) -> str:
    """The text of a file that a workload file names. It lies in the same folder: a workload may come from anyone, and
    what it names goes into run folders and prompts."""
    folder = path.resolve().parent
    file = folder / name
    if "\0" not in name and not file.resolve().is_relative_to(folder):
        raise ConfigError(f"{path}: key {key!r}: cannot read {file}: it lies outside of the folder of the workload")
    try:
        return parsing.read(file)
    except ConfigError as error:
        raise ConfigError(f"{path}: key {key!r}: {error.message}") from None


def _build(file: schema.File, path: Path) -> Workload:
    if isinstance(file, schema.GemmFile):
        return _gemm(file, path)
    if isinstance(file, schema.TensorFile):
        return _tensor_operation(file, path)
    return _conv2d(file, path) if isinstance(file, schema.Conv2dFile) else _custom(file, path)


def with_constants(workload: Workload, constants: Mapping[str, int]) -> Workload:
    """The workload with more names for its kernels, which win over those of its file."""
    changed = replace(workload, constants={**workload.constants, **constants})
    return replace(changed, digest=digest(changed))


def digest(workload: Workload) -> str:
    """sha256 of all that decides what is computed and on which machine, names and paths left out."""
    identity = {
        "operation": workload.operation,
        "target": workload.target,
        "overrides": dict(sorted(workload.overrides.items())),
        "tensors": [[t.name, t.dtype, list(t.shape), t.role] for t in workload.tensors],
        "dims": dict(sorted(workload.dims.items())),
        "options": dict(sorted(workload.options.items())),
        "constants": dict(sorted(workload.constants.items())),
        "tolerance": None if workload.tolerance is None else asdict(workload.tolerance),
        "host": workload.host,
        "starting_kernel": workload.starting_kernel,
        "reference": _reference(workload),
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _reference(workload: Workload) -> str | None:
    if workload.reference_source is None:
        return None
    return f"{workload.reference_source.rsplit(':', 1)[1]}\n{workload.reference_text}"


def _workload(file: schema.File, path: Path, **operation: Any) -> Workload:
    """A workload: the fields that all operations take from their file, and those of one."""
    common: dict[str, Any] = {
        "name": file.name or path.stem,
        "operation": file.operation,
        "target": file.target_spec,
        "overrides": {},
        "constants": dict(file.constants),
        "tolerance": None,
        "starting_kernel": None,
        "host": file.host,
        "path": str(path.resolve()),
    }
    return Workload(**{**common, **operation})


def _gemm(file: schema.GemmFile, path: Path) -> Workload:
    i, j, k = file.dims.I, file.dims.J, file.dims.K
    layouts = operand_layouts({str(name): text for name, text in file.layout.items()}, file.dims.model_dump())
    shapes = {"A": (k, i) if file.transpose_a else (i, k), "B": (j, k) if file.transpose_b else (k, j)}
    bias = (1 if file.bias == "row" else i, j)
    keys = ("bias", "activation", "scale", "transpose_a", "transpose_b")
    return _workload(
        file,
        path,
        tensors=_product_tensors(file, shapes, layouts, bias, ("C", (i, j))),
        dims={"I": i, "J": j, "K": k},
        options={key: getattr(file, key) for key in keys} | _unusual(file),
        multiply_accumulates=i * j * k,
        unused_bytes=_filling(file, layouts),
    )


def _product_tensors(
    file: schema.GemmFile | schema.Conv2dFile,
    shapes: Mapping[str, tuple[int, ...]],
    layouts: Mapping[str, Layout],
    bias: tuple[int, ...],
    output: tuple[str, tuple[int, ...]],
) -> tuple[TensorSpec, ...]:
    """The parameters of a sum of products: operands as they are stored, biases of the type of sums, results."""
    stored = {**shapes, **{name: layout.shape for name, layout in layouts.items()}}
    tensors = [TensorSpec(name, file.dtype, shape, "input") for name, shape in stored.items()]
    if file.bias != "none":
        tensors.append(TensorSpec("bias", "int32" if file.dtype == "int8" else "float32", bias, "input"))
    return (*tensors, TensorSpec(output[0], file.result or file.dtype, output[1], "output"))


def _unusual(file: schema.GemmFile | schema.Conv2dFile) -> dict[str, Any]:
    """Options that only some sums of products have."""
    unusual: dict[str, Any] = {} if file.result in (None, file.dtype) else {"result": file.result}
    unusual |= {} if file.rounding is None else {"rounding": file.rounding}
    return {**unusual, "layout": dict(file.layout)} if file.layout else unusual


def _filling(file: schema.GemmFile | schema.Conv2dFile, layouts: Mapping[str, Layout]) -> int:
    """Bytes of stored operands that hold no element."""
    return data_type(file.dtype).bytes(sum(layout.filling for layout in layouts.values()))


def _conv2d(file: schema.Conv2dFile, path: Path) -> Workload:
    dims = file.dims.model_dump()
    keys = ("stride", "padding", "dilation", "groups", "bias", "activation", "scale")
    options = {key: getattr(file, key) for key in keys}
    options["pool"] = None if file.pool is None else file.pool.model_dump()
    shape = convolution(dims, options)
    _check_conv2d(shape, path)
    images, height, width, filters = shape.images, shape.rows.pooled, shape.cols.pooled, shape.filters
    layouts = operand_layouts({str(name): text for name, text in file.layout.items()}, dims, shape.groups)
    shapes = {
        "inp": (images, file.dims.H, file.dims.W, shape.channels),
        "weights": (file.dims.R, file.dims.S, shape.depth, filters),
    }
    output = ("output", (images, height, width, filters))
    return _workload(
        file,
        path,
        tensors=_product_tensors(file, shapes, layouts, (1, filters), output),
        dims=dims,
        options=options | _unusual(file),
        multiply_accumulates=shape.multiply_accumulates,
        unused_bytes=data_type(file.dtype).bytes(shape.unused) + _filling(file, layouts),
    )


def _check_conv2d(shape: Convolution, path: Path) -> None:
    if shape.channels % shape.groups or shape.filters % shape.groups:
        raise ConfigError(
            f"{path}: key 'groups': found {shape.groups}, expected a divisor of C = {shape.channels} and of "
            f"K = {shape.filters}"
        )
    for axis, letter in ((shape.rows, "H"), (shape.cols, "W")):
        reach = axis.dilation * (axis.taps - 1) + 1
        if axis.results < 1:
            raise ConfigError(
                f"{path}: the filter reaches over {reach} pixels along {letter}, the image and its padding have "
                f"{axis.padded}"
            )
        if axis.pooling is not None and axis.pooled < 1:
            raise ConfigError(
                f"{path}: key 'pool.size': found {axis.pooling.size}, but along {letter} there are "
                f"{axis.results} results to pool"
            )
        if axis.pooling is not None and axis.pooling.padding >= axis.pooling.size:
            raise ConfigError(
                f"{path}: key 'pool.padding': found {axis.pooling.padding}, expected less than the window's size "
                f"{axis.pooling.size}"
            )


def _tensor_operation(file: schema.TensorFile, path: Path) -> Workload:
    """Raises ConfigError for dims, options and data types that the operation does not have."""
    known = operation(file.operation)
    dtypes = list(dict.fromkeys([file.dtype, *file.dtypes]))
    for dtype in dtypes:
        if dtype not in known.dtypes:
            raise ConfigError(
                f"{path}: data type {dtype!r} of operation {file.operation!r}",
                hint=f"its data types: {', '.join(known.dtypes)}",
            )
    for size in (file.dims, *file.sizes):
        known.check(size, file.options)
    options = known.with_defaults(file.options)
    tensors = known.operands(file.dims, file.dtype, options)
    work = known.work(file.dims, file.dtype, options)
    return _workload(
        file,
        path,
        tensors=tuple(TensorSpec(t.name, t.dtype, t.shape, t.role) for t in tensors),
        dims=dict(file.dims),
        options={**options, "dtype": file.dtype, "dtypes": dtypes, "sizes": [dict(size) for size in file.sizes]},
        multiply_accumulates=work.tensor // 2,
    )


def _custom(file: schema.CustomFile, path: Path) -> Workload:
    tensors = tuple(_tensor(entry, file.constants, path) for entry in file.tensors)
    names = [tensor.name for tensor in tensors]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"{path}: key 'tensors': two tensors are named {twice!r}")
    if all(tensor.role == "input" for tensor in tensors):
        raise ConfigError(f"{path}: key 'tensors': no tensor is an output", hint="give one `role: output`")
    ranges = {entry.name: list(entry.range) for entry in file.tensors if entry.range is not None}
    roundoffs = [known.roundoff for t in tensors if t.role != "input" and (known := data_type(t.dtype)).is_float]
    relative = max(1e-5, 2 * max(roundoffs, default=0.0))
    usual = schema.Tolerance(relative=relative, absolute=1e-6) if roundoffs and not file.is_for_gpu else None
    tolerance = file.tolerance or usual
    rounded = {} if file.convolutions == "float32" else {"convolutions": file.convolutions}
    return _workload(
        file,
        path,
        tensors=tensors,
        dims=dict(file.constants),
        options={"ranges": ranges, **rounded},
        tolerance=None if tolerance is None else Tolerance(**tolerance.model_dump()),
        multiply_accumulates=file.multiply_accumulates,
        reference_source=str(path.resolve().parent / file.reference),
    )


def _tensor(entry: schema.TensorEntry, constants: Mapping[str, int], path: Path) -> TensorSpec:
    shape = tuple(_extent(extent, constants, f"{path}: shape of tensor {entry.name!r}") for extent in entry.shape)
    return TensorSpec(entry.name, entry.dtype, shape, entry.role)


def _extent(extent: Any, constants: Mapping[str, int], where: str) -> int:
    """An extent: an integer, or a constant with an optional `+ n`, `- n` or `* n`."""
    if isinstance(extent, int):
        value = extent
    else:
        match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*(?:([-+*])\s*(\d{1,9}))?\s*", extent)
        if match is None:
            raise ConfigError(f"{where}: found {extent!r}, expected an integer or an expression such as 'N + 1'")
        name, operator, number = match.groups()
        if name not in constants:
            raise ConfigError(
                f"{where}: {name!r} is not one of the constants", hint=f"constants: {', '.join(constants)}"
            )
        value = constants[name]
        if operator:
            amount = int(number)
            value = value + amount if operator == "+" else value - amount if operator == "-" else value * amount
    if value < 1:
        raise ConfigError(f"{where}: the extent is {value}, expected at least 1")
    return value
