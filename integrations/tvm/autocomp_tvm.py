"""TVM Relax programs with their quantised products and convolutions computed by autocomp's kernels, on the simulator.

`offload` finds what the machine can do, gets a validated kernel for each (from the library, or adapted), and puts calls
in their place. The rest stays with TVM. Written for apache-tvm 0.27.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import relax
from tvm.relax.dpl import is_const, is_op, wildcard

import autocomp
from autocomp.errors import AutocompError
from autocomp.serving import to_c

PREFIX = "autocomp."


@dataclass(frozen=True)
class Offloaded:
    """An operation that runs on a kernel of ours: the function of the program, what it computes, and the kernel."""

    name: str
    answer: autocomp.Answer

    @property
    def cycles(self) -> int:
        return int(self.answer.record.result.value)


@dataclass(frozen=True)
class Program:
    """A Relax module whose calls go to kernels; `offloaded` are in the module's order, `stays` says why others stay."""

    module: tvm.IRModule
    offloaded: tuple[Offloaded, ...]
    stays: Mapping[str, str] = field(default_factory=dict)

    @property
    def cycles(self) -> int:
        return sum(one.cycles for one in self.offloaded)

    def to_c(self) -> dict[str, str]:
        """The C of all kernels by file name, with a dispatch over sizes."""
        return to_c([one.answer for one in self.offloaded])


def patterns() -> list[tuple[str, Any]]:
    """Sums of int8 products, with or without biases and ReLU, scaled, rounded and saturated to int8."""
    found = []
    for operation, name in (("relax.matmul", "gemm"), ("relax.nn.conv2d", "conv2d")):
        for biased in (True, False):
            for rectified in (True, False):
                sums = is_op(operation)(wildcard(), wildcard())
                sums = is_op("relax.add")(sums, is_const()) if biased else sums
                sums = is_op("relax.nn.relu")(sums) if rectified else sums
                scaled = is_op("relax.multiply")(is_op("relax.astype")(sums), is_const())
                clipped = is_op("relax.clip")(is_op("relax.round")(scaled), wildcard(), wildcard())
                found.append((f"{PREFIX}{name}", is_op("relax.astype")(clipped)))
    return found


def offload(module: tvm.IRModule, accelerator: str = "gemmini", evaluations: int = 8, keep: bool = False) -> Program:
    """The program with kernels for what the accelerator can do; each new kernel costs at most `evaluations`."""
    fused = relax.transform.FuseOpsByPattern(patterns(), bind_constants=True, annotate_codegen=False)(module)
    found: dict[str, Offloaded] = {}
    stays: dict[str, str] = {}
    for variable, function in fused.functions.items():
        if not _is_ours(function):
            continue
        name = variable.name_hint
        try:
            operation = _Operation.of(function, accelerator)
            answer = autocomp.lookup_or_adapt(operation.workload, evaluations=evaluations, keep=keep)
        except (AutocompError, _Stays) as error:
            stays[name] = str(error)
            continue
        tvm.register_global_func(_symbol(name), operation.runner(answer), override=True)
        found[name] = Offloaded(name, answer)
    caller = _Caller(fused, found)
    return Program(caller.result(), tuple(found.values()), stays)


class _Stays(Exception):
    """An operation stays with TVM; the message says why."""


@dataclass(frozen=True)
class _Operation:
    """The operation of a fused function: its workload, and the constants among its tensors."""

    workload: autocomp.Workload
    constants: Mapping[str, np.ndarray]
    inputs: Sequence[str]  # the tensors that are arguments, in order
    shape: Sequence[int]  # of the result, as the program has it

    @classmethod
    def of(cls, function: relax.Function, accelerator: str) -> _Operation:
        calls = [binding.value for block in function.body.blocks for binding in block.bindings]
        by_name = {call.op.name: call for call in calls if isinstance(call, relax.Call)}
        options = _options(by_name)
        first = calls[0]
        arrays, inputs = {}, []
        names = ("A", "B") if first.op.name == "relax.matmul" else ("inp", "weights")
        for name, argument in zip(names, first.args, strict=True):
            if argument in list(function.params):
                inputs.append(name)
            else:
                arrays[name] = _constant(argument)
        if "relax.add" in by_name:
            arrays["bias"] = _constant(by_name["relax.add"].args[1]).reshape(1, -1)
            options["bias"] = "row"
        make = _gemm if first.op.name == "relax.matmul" else _convolution
        document = {"accelerator": accelerator, **make(first), **options}
        workload = autocomp.load_workload(document)
        shapes = {tensor.name: tensor.shape for tensor in workload.tensors}
        for name, array in arrays.items():
            if array.shape != shapes[name]:
                raise _Stays(f"{name} has the shape {array.shape}, not {shapes[name]}")
        return cls(workload, arrays, inputs, _shape(function.body))

    def runner(self, answer: autocomp.Answer) -> Any:
        """The packed function: the arguments, then the result that it writes."""
        output = self.workload.outputs[0]

        def run(*tensors: Any) -> None:
            given = {name: tensor.numpy() for name, tensor in zip(self.inputs, tensors, strict=False)}
            arrays = {**self.constants, **given, output.name: np.zeros(output.shape, output.dtype)}
            arrays = {t.name: np.ascontiguousarray(arrays[t.name].reshape(t.shape)) for t in self.workload.tensors}
            tensors[-1].copyfrom(answer.run(arrays)[output.name].reshape(self.shape))

        return run


def _options(by_name: Mapping[str, relax.Call]) -> dict[str, Any]:
    """The scale and the activation. Raises _Stays where the machine would round or saturate otherwise."""
    scale = _constant(by_name["relax.multiply"].args[1])
    if scale.size != 1 or scale.dtype != np.float32:
        raise _Stays("its channels have scales of their own")
    low, high = (int(bound.value) for bound in by_name["relax.clip"].args[1:])
    if high != 127 or low not in (-128, 0):
        raise _Stays(f"its results are saturated to {low} .. {high}")
    rectified = "relax.nn.relu" in by_name or low == 0
    return {"scale": float(scale.reshape(())), "activation": "relu" if rectified else "none"}


def _gemm(call: relax.Call) -> dict[str, Any]:
    left, right = (_shape(argument) for argument in call.args)
    if len(left) != 2 or len(right) != 2:
        raise _Stays(f"its operands have {len(left)} and {len(right)} dimensions")
    _require_int8(call)
    return {"operation": "gemm", "dims": {"I": left[0], "J": right[1], "K": left[1]}}


def _convolution(call: relax.Call) -> dict[str, Any]:
    attributes = call.attrs
    if (attributes.data_layout, attributes.kernel_layout) != ("NHWC", "HWIO"):
        raise _Stays(f"its layouts are {attributes.data_layout} and {attributes.kernel_layout}, not NHWC and HWIO")
    _require_int8(call)
    image, filters = (_shape(argument) for argument in call.args)
    keys = {"stride": "strides", "padding": "padding", "dilation": "dilation"}  # top, left, bottom, right, as ours
    sides = {name: [int(value) for value in getattr(attributes, key)] for name, key in keys.items()}
    dims = dict(zip("NHWC", image, strict=True)) | {"K": filters[3], "R": filters[0], "S": filters[1]}
    return {"operation": "conv2d", "dims": dims, **sides, "groups": int(attributes.groups)}


def _require_int8(call: relax.Call) -> None:
    types = [str(argument.ty.dtype) for argument in call.args]
    if types != ["int8", "int8"] or str(call.ty.dtype) != "int32":
        raise _Stays(f"it multiplies {' and '.join(types)} to {call.ty.dtype}, not int8 to int32")


def _shape(value: relax.Expr) -> tuple[int, ...]:
    return tuple(int(extent) for extent in value.ty.shape)


def _constant(value: relax.Expr) -> np.ndarray:
    return np.asarray(value.value.numpy())


def _is_ours(function: Any) -> bool:
    attributes = function.attrs or {}
    return isinstance(function, relax.Function) and str(attributes.get("Composite", "")).startswith(PREFIX)


def _symbol(name: str) -> str:
    return f"{PREFIX}kernel.{name}"


@relax.expr_functor.mutator
class _Caller(relax.PyExprMutator):
    """Calls of kernels in the place of calls of fused functions."""

    def __init__(self, module: tvm.IRModule, found: Mapping[str, Offloaded]) -> None:
        super().__init__(module)
        self._module, self._found = module, found

    def result(self) -> tvm.IRModule:
        for variable, function in self._module.functions.items():
            if isinstance(function, relax.Function) and not _is_ours(function):
                self.builder_.update_func(variable, self.visit_expr(function))
        return relax.transform.DeadCodeElimination()(self.builder_.get())

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        if isinstance(call.op, tvm.ir.GlobalVar) and call.op.name_hint in self._found:
            arguments = [self.visit_expr(argument) for argument in call.args]
            return relax.call_dps_packed(_symbol(call.op.name_hint), relax.Tuple(arguments), call.ty)
        return super().visit_call_(call)
