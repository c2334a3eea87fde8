"""A Relax program with our kernels computes what TVM computes, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.integrations.loading import load

pytestmark = [pytest.mark.tvm, pytest.mark.filterwarnings("ignore")]
GENERATOR = np.random.default_rng(3)


@pytest.fixture(scope="module")
def bridge() -> Any:
    pytest.importorskip("tvm")
    return load("tvm", "autocomp_tvm")


class Network:
    """A Relax function of one argument, built operation by operation."""

    def __init__(self, *shape: int) -> None:
        from tvm import relax

        self._relax, self._builder = relax, relax.BlockBuilder()
        self._argument = relax.Var("x", relax.TensorType(shape, "int8"))
        self._value, self._operations = self._argument, []

    def dense(self, columns: int, scale: Any, *, relu: bool = False) -> Network:
        def make(value: Any, emit: Any) -> Any:
            op, depth = self._relax.op, int(value.ty.shape[1])
            sums = emit(op.matmul(value, self._random((depth, columns), "int8", 60), out_dtype="int32"))
            return self._requantised(emit, emit(op.add(sums, self._random((columns,), "int32", 500))), scale, relu)

        self._operations.append(make)
        return self

    def convolution(self, filters: int, side: int, scale: Any, **options: int) -> Network:
        def make(value: Any, emit: Any) -> Any:
            op, channels = self._relax.op, int(value.ty.shape[3]) // options.get("groups", 1)
            weights = self._random((side, side, channels, filters), "int8", 60)
            layout = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": "int32"}
            return self._requantised(emit, emit(op.nn.conv2d(value, weights, **options, **layout)), scale, True)

        self._operations.append(make)
        return self

    def reshaped(self, *shape: int) -> Network:
        self._operations.append(lambda value, emit: emit(self._relax.op.reshape(value, shape)))
        return self

    def module(self) -> Any:
        with self._builder.function("main", [self._argument]):
            with self._builder.dataflow():
                value = self._argument
                for operation in self._operations:
                    value = operation(value, self._builder.emit)
                output = self._builder.emit_output(value)
            self._builder.emit_func_output(output)
        return self._builder.get()

    def _random(self, shape: tuple[int, ...], dtype: str, most: int) -> Any:
        return self._relax.const(GENERATOR.integers(-most, most, shape).astype(dtype))

    def _requantised(self, emit: Any, sums: Any, scale: Any, relu: bool) -> Any:
        op = self._relax.op
        sums = emit(op.nn.relu(sums)) if relu else sums
        scaled = emit(op.multiply(emit(op.astype(sums, "float32")), self._relax.const(np.float32(scale))))
        return emit(op.astype(emit(op.clip(emit(op.round(scaled)), -128, 127)), "int8"))


def results(module: Any, argument: Any) -> Any:
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    return machine["main"](tvm.runtime.tensor(argument)).numpy()


def assert_equal(module: Any, program: Any, *shape: int) -> None:
    for _ in range(2):
        argument = GENERATOR.integers(-128, 127, shape, np.int8, endpoint=True)
        assert np.array_equal(results(module, argument), results(program.module, argument))


def test_a_perceptron_runs_on_kernels_of_ours(bridge: Any) -> None:
    module = Network(4, 64).dense(48, 0.003, relu=True).dense(32, 0.0041, relu=True).dense(10, 0.0123).module()
    program = bridge.offload(module, evaluations=3)
    assert [one.answer.workload.operation for one in program.offloaded] == ["gemm"] * 3
    assert program.cycles > 0
    assert "dispatch.c" in program.to_c()
    assert_equal(module, program, 4, 64)


def test_a_convolutional_network_runs_on_kernels_of_ours(bridge: Any) -> None:
    network = Network(1, 8, 8, 3).convolution(16, 3, 0.004, strides=1, padding=1)
    network = network.convolution(16, 3, 0.02, strides=2, padding=1, groups=16).reshaped(1, 256).dense(10, 0.0021)
    module = network.module()
    program = bridge.offload(module, evaluations=3)
    assert sorted(one.answer.workload.operation for one in program.offloaded) == ["conv2d", "conv2d", "gemm"]
    assert_equal(module, program, 1, 8, 8, 3)


def test_what_the_machine_cannot_do_stays_with_tvm(bridge: Any) -> None:
    scales = np.linspace(0.001, 0.01, 10, dtype=np.float32)
    module = Network(4, 32).dense(16, 0.003).dense(10, scales).module()
    program = bridge.offload(module, evaluations=3)
    assert len(program.offloaded) == 1
    assert list(program.stays.values()) == ["its channels have scales of their own"]
    assert_equal(module, program, 4, 32)
