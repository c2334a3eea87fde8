"""A quantised PyTorch module with our kernels computes what PyTorch's own integer kernels compute, bit for bit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integrations.loading import load

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def bridge() -> Any:
    pytest.importorskip("torchao")
    return load("pytorch", "autocomp_torch")


@pytest.fixture(scope="module")
def networks(bridge: Any) -> Any:
    import torch

    torch.manual_seed(3)
    return load("pytorch", "two_networks")


def assert_equal(bridge: Any, module: Any, program: Any, *shape: int) -> None:
    import torch

    integer = bridge.on_integers(module)
    for _ in range(3):
        argument = torch.randn(shape)
        assert torch.equal(program.module(argument), integer(argument))


def example(*shape: int) -> Any:
    import torch

    return (torch.randn(shape),)


def test_a_convolutional_network_runs_on_kernels_of_ours(bridge: Any, networks: Any) -> None:
    module = networks.quantised(networks.Convolutional(8, 1), 1, 3, 12, 12)
    program = bridge.offload(module, example(1, 3, 12, 12), evaluations=2)
    assert [kernel.answer.workload.operation for kernel in program.offloaded.values()] == [
        *("conv2d", "gemm", "conv2d", "gemm", "gemm")  # convolutions of one tap are products
    ]
    assert (program.stays, program.share_of_operations) == ({}, 1.0)
    assert program.cycles > 0
    assert "dispatch.c" in program.to_c()
    assert_equal(bridge, module, program, 1, 3, 12, 12)


def test_an_encoder_runs_on_kernels_of_ours_without_its_attention(bridge: Any, networks: Any) -> None:
    module = networks.quantised(networks.Encoder(32, 2), 2, 9, 32)
    program = bridge.offload(module, example(2, 9, 32), evaluations=2)
    assert len(program.offloaded) == 6
    assert set(program.work) - set(program.offloaded) == {"matmul", "matmul_1"}
    assert 0.5 < program.share_of_operations < 1
    assert 0 < bridge.share_of_time(program, module, *example(2, 9, 32)) < 1
    assert_equal(bridge, module, program, 2, 9, 32)


def test_results_are_nearly_those_of_the_float_network(bridge: Any, networks: Any) -> None:
    import torch

    module = networks.quantised(networks.Convolutional(8, 1), 1, 3, 12, 12)
    argument = torch.randn(1, 3, 12, 12)
    assert torch.allclose(bridge.on_integers(module)(argument), module(argument), atol=0.05)


def linear(quantizer: Any) -> Any:
    import torch
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    prepared = prepare_pt2e(torch.export.export(torch.nn.Linear(16, 8).eval(), example(4, 16)).module(), quantizer)
    prepared(torch.rand(4, 16))
    return convert_pt2e(prepared)


def test_zero_points_stay_with_pytorch(bridge: Any) -> None:
    from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config

    module = linear(XNNPACKQuantizer().set_global(get_symmetric_quantization_config()))
    program = bridge.offload(module, example(4, 16), evaluations=1)
    assert (len(program.offloaded), program.share_of_operations) == (0, 0.0)
    assert program.stays == {"linear": "its input is torch.int8 with the zero point -128, not int8 with 0"}


def test_scales_of_channels_stay_with_pytorch(bridge: Any) -> None:
    import torch
    from torchao.quantization.pt2e import PerChannelMinMaxObserver
    from torchao.quantization.pt2e.quantizer import QuantizationSpec

    quantizer = bridge.SymmetricInt8()
    quantizer.weights = QuantizationSpec(
        torch.int8, PerChannelMinMaxObserver, -127, 127, torch.per_channel_symmetric, ch_axis=0
    )
    program = bridge.offload(linear(quantizer), example(4, 16), evaluations=1)
    assert program.stays == {"linear": "its weight is not quantised with one scale"}


def test_paddings_may_differ_from_side_to_side(bridge: Any, networks: Any) -> None:
    network = networks.Convolutional(8, 1)
    network.first[0].padding = (1, 0)
    module = networks.quantised(network, 1, 3, 12, 12)
    program = bridge.offload(module, example(1, 3, 12, 12), evaluations=1)
    assert program.stays == {}
    assert_equal(bridge, module, program, 1, 3, 12, 12)
