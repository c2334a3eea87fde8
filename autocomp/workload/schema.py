"""The shape of a workload file, as pydantic models."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from typing_extensions import Self

from autocomp.workload.convolution import joined
from autocomp.workload.datatypes import data_type
from autocomp.workload.model import Host
from autocomp.workload.shifting import Rounding, shift_of

MOST = 1 << 20  # of sizes, counts and steps
PositiveInt = Annotated[int, Field(strict=True, ge=1, le=MOST)]
NonNegativeInt = Annotated[int, Field(strict=True, ge=0, le=MOST)]


def _number(value: object) -> object:
    """YAML reads `yes` and `on` as truth values, which are numbers in Python."""
    if isinstance(value, bool):
        raise ValueError("a number")
    return value


Scale = Annotated[float, Field(allow_inf_nan=False, ge=-3.4e38, le=3.4e38), BeforeValidator(_number)]
Size = Annotated[float, Field(allow_inf_nan=False, ge=0), BeforeValidator(_number)]
Real = Annotated[float, BeforeValidator(_number)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
Dtype = Literal[  # an element is one element of an array in C, so that types of 4 bits are not among them
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float8_e4m3",
    "float8_e5m2",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


GPU = "triton"  # the kind of target whose tensors lie in a device's memory
FEW_AXES = 4  # that a tensor of a simulated machine's kernel may have


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Common(_Strict):
    """Keys of every workload. `target` is the machine that kernels are for, as KIND or KIND:MACHINE;
    `accelerator: NAME` is short for `target: simulator:NAME`. `set` overrides parameters of the machine, as `--set`
    does; `kernel` is the file to start from, looked up beside the workload file;
    `host` says what a kernel's own code may do (`Workload`)."""

    name: str | None = None
    doc: str = ""
    accelerator: str | None = None
    target: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*(:.+)?$")] | None = None
    set: dict[str, Annotated[int | float, BeforeValidator(_number)]] = {}
    host: Host = "control"
    kernel: str | None = None
    constants: dict[Identifier, Annotated[int, Field(strict=True)]] = {}

    @property
    def target_spec(self) -> str:
        """KIND:MACHINE; empty where the file names no target."""
        return self.target or (f"simulator:{self.accelerator}" if self.accelerator else "")

    @model_validator(mode="after")
    def _one_target(self) -> Self:
        if self.accelerator is not None and self.target is not None:
            raise ValueError("give 'target' or 'accelerator', which is short for a simulated one, and not both")
        return self


class GemmDims(_Strict):
    """C[I][J] = A[I][K] · B[K][J]."""

    I: PositiveInt  # noqa: E741
    J: PositiveInt
    K: PositiveInt


class _ProductFile(_Common):
    """Keys of every sum of products. `result` is the type of the output: that of the operands if absent. With a
    `rounding` the sums are shifted to the right, exact, and halves rounded so."""

    dtype: Literal["int8", "float32", "bfloat16", "float16"] = "int8"
    activation: Literal["none", "relu"] = "none"
    scale: Scale = 1.0
    result: Literal["int8", "int32", "float32", "bfloat16", "float16"] | None = None
    rounding: Rounding | None = None

    @model_validator(mode="after")
    def _result_fits(self) -> Self:
        if self.result is not None and data_type(self.result).is_float != data_type(self.dtype).is_float:
            raise ValueError(f"'result' cannot be {self.result} of {self.dtype} operands")
        if self.result == "int32" and self.scale != 1.0:
            raise ValueError("'scale' must be 1 for a result of int32: the sums are the results")
        if self.rounding is not None and (self.result or self.dtype) != "int8":
            raise ValueError("'rounding' is of results of int8: others are not rounded to integers")
        if self.rounding is not None and shift_of(self.scale) is None:
            raise ValueError("'rounding' is of shifts: 'scale' must be 1, or 0.5, 0.25 … down to 2^-31")
        return self


class GemmFile(_ProductFile):
    """`bias` is a row [1][J] or full [I][J], int32 or binary32; a transposed operand is stored as A[K][I], B[J][K], one
    with a layout as that says."""

    operation: Literal["gemm"]
    dims: GemmDims
    bias: Literal["none", "row", "full"] = "none"
    transpose_a: bool = False
    transpose_b: bool = False
    layout: dict[Literal["A", "B"], str] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in self.layout:
            if self.transpose_a if name == "A" else self.transpose_b:
                raise ValueError(f"{name} has a layout; leave out 'transpose_{name.lower()}'")
        return self


class Conv2dDims(_Strict):
    """N images of H x W pixels with C channels as they lie in DRAM, K filters of R x S."""

    N: PositiveInt
    H: PositiveInt
    W: PositiveInt
    C: PositiveInt
    K: PositiveInt
    R: PositiveInt
    S: PositiveInt


class Pool(_Strict):
    """The maximum over windows of size x size results; results outside the image count as 0."""

    size: PositiveInt
    stride: PositiveInt
    padding: NonNegativeInt = 0


def _numbers(least: int, *names: str) -> BeforeValidator:
    """One number, or one for each of the names; equal ones become one."""

    def checked(value: Any) -> int | list[int]:
        values = value if isinstance(value, list) else [value]
        right = not isinstance(value, list) or len(value) == len(names)
        if not right or not all(type(number) is int and least <= number <= MOST for number in values):
            raise ValueError(f"a whole number from {least} to {MOST}, or a list of such: [{', '.join(names)}]")
        return joined(values)

    return BeforeValidator(checked)


Directions = Annotated[int | list[int], _numbers(1, "rows", "columns")]
Sides = Annotated[int | list[int], _numbers(0, "top", "left", "bottom", "right")]


class Conv2dFile(_ProductFile):
    """inp[N][H][W][C] and weights[R][S][C / groups][K] unless they have a layout, bias [1][K] of int32 or binary32,
    output [N][P][Q][K]."""

    operation: Literal["conv2d"]
    dims: Conv2dDims
    stride: Directions = 1
    padding: Sides = 0
    dilation: Directions = 1
    groups: PositiveInt = 1
    bias: Literal["none", "row"] = "none"
    pool: Pool | None = None
    layout: dict[Literal["inp", "weights"], str] = {}


class TensorEntry(_Strict):
    """One parameter of the kernel. Extents are integers or expressions such as `NHORIZON + 1` over `constants`.

    `range` limits the values that inputs are drawn from, both ends included.
    """

    name: Identifier
    dtype: Dtype
    shape: Annotated[list[int | str], Field(min_length=1, max_length=6)]
    role: Literal["input", "output", "inout"]
    range: tuple[Real, Real] | None = None

    @model_validator(mode="after")
    def _range_holds_values(self) -> Self:
        if self.range is None:
            return self
        low, high = self.range
        if not math.isfinite(low) or not math.isfinite(high):
            raise ValueError("both ends of `range` are finite")
        known = data_type(self.dtype)
        if known.is_float:  # half of what the type holds, so that their distance is a number too
            least, most = -known.largest / 2, known.largest / 2
        else:
            least, most = int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max)
            low, high = math.ceil(low), math.floor(high)
        if not least <= low <= high <= most:
            raise ValueError(f"`range` is [low, high], with values of {self.dtype} from {least:g} to {most:g}")
        return self


class Tolerance(_Strict):
    """An element is right if |got - expected| <= absolute + relative * |expected| + gamma(roundings) * magnitude.

    `magnitude` is a function in the reference's file. It gives, in the form of the reference's results, the sum of the
    magnitudes of all terms that an element is a sum of. `roundings` is how often the value of one term is rounded on
    its way into the result. With u for the unit roundoff of binary32, or of float64 if the result is that,
    gamma(n) = n u / (1 - n u). Of narrower floats, one rounding more to their type is allowed, at the end.
    Of integers only `absolute` counts.
    """

    relative: Size = 0.0
    absolute: Size = 0.0
    roundings: NonNegativeInt = 0
    magnitude: Identifier | None = None

    @model_validator(mode="after")
    def _both(self) -> Tolerance:
        if (self.magnitude is None) != (self.roundings == 0):
            raise ValueError("`roundings` and `magnitude` go together")
        return self


class CustomFile(_Common):
    """An operation that the user defines: `reference` is `file.py:function`, `kernel` the kernel to start from.

    Both files are looked up beside the workload file. The function is of NumPy's arrays for a simulated machine, of
    PyTorch's tensors for a GPU. `convolutions: tf32` lets kernels round the operands of float32 convolutions to tf32,
    as PyTorch does by default.
    """

    operation: Literal["custom"]
    tensors: Annotated[list[TensorEntry], Field(min_length=1)]
    reference: Annotated[str, Field(pattern=r"^[^:]+\.py:[A-Za-z_][A-Za-z0-9_]*$")]
    tolerance: Tolerance | None = None
    convolutions: Literal["float32", "tf32"] = "float32"
    multiply_accumulates: Annotated[int, Field(strict=True, ge=0)] = 0

    @property
    def is_for_gpu(self) -> bool:
        return self.target_spec.partition(":")[0] == GPU

    @model_validator(mode="after")
    def _suits_the_target(self) -> Self:
        if self.convolutions != "float32" and not self.is_for_gpu:
            raise ValueError(f"`convolutions: {self.convolutions}` needs `target: {GPU}`")
        for tensor in self.tensors:
            if not self.is_for_gpu and len(tensor.shape) > FEW_AXES:
                raise ValueError(f"tensor {tensor.name!r} has {len(tensor.shape)} axes, which needs `target: {GPU}`")
            if self.is_for_gpu and tensor.dtype.startswith("float8"):
                raise ValueError(f"tensor {tensor.name!r} has {tensor.dtype}, which GPUs have in `scaled_matmul` alone")
        return self


class TensorFile(_Common):
    """An operation on tensors of floats: `autocomp.workload.tensor` states its dims and options. Kernels are timed at
    `dims` in `dtype`, and must also be right in `dtypes` and at `sizes`."""

    operation: Literal[
        "matmul",
        "scaled_matmul",
        "softmax",
        "layernorm",
        "rmsnorm",
        "sum",
        "cross_entropy",
        "attention",
        "rotary",
        "fused_mlp",
    ]
    dims: dict[str, PositiveInt]
    dtype: str = "float16"
    dtypes: list[str] = []
    options: dict[str, bool | float | str] = {}
    sizes: list[dict[str, PositiveInt]] = []


File = GemmFile | Conv2dFile | CustomFile | TensorFile
_TENSOR = dict.fromkeys(get_args(TensorFile.model_fields["operation"].annotation), TensorFile)
OPERATIONS: dict[str, type[_Common]] = {"gemm": GemmFile, "conv2d": Conv2dFile, "custom": CustomFile, **_TENSOR}
_NO_OPTION = {*_Common.model_fields, "operation", "dims", "dtype"}


def usual_options(operation: str) -> dict[str, Any]:
    """The options of an operation of ours with the values that a file may leave out; none of a user's own operation."""
    file = OPERATIONS.get(operation)
    if file is None or file in (CustomFile, TensorFile):
        return {}
    return {name: field.default for name, field in file.model_fields.items() if name not in _NO_OPTION}
