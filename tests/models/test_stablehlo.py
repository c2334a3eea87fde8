"""StableHLO modules as JAX 0.10 wrote them: `jax.jit(f).lower(…).as_text()`."""

from __future__ import annotations

from pathlib import Path

import pytest

from autocomp.errors import ConfigError
from autocomp.models import import_model

FOLDER = Path(__file__).parent / "stablehlo"


def operations(name: str) -> dict[str, int]:
    return {operation.name: count for operation, count in import_model(FOLDER / name).operations.items()}


def test_convolutions_and_products_are_found_with_their_biases_and_activations() -> None:
    assert operations("network.mlir") == {
        "conv2d_N1_H16_W16_C3_K16_R3_S3_activation_relu_bias_row_padding_1_stride_2": 1,
        "conv2d_N1_H8_W8_C16_K16_R3_S3_activation_relu_groups_16_padding_1": 1,
        "gemm_I64_J32_K16": 1,  # a convolution of one tap
        "gemm_I1_J10_K2048_bias_row": 1,
    }


def test_layers_have_the_names_of_their_results_and_the_types_of_their_operands() -> None:
    layers = import_model(FOLDER / "network.mlir").layers
    assert {layer.dtype for found in layers.values() for layer in found} == {"float32"}
    assert all(layer.name.startswith("%") for found in layers.values() for layer in found)


def test_products_of_several_matrices_count_once_for_each() -> None:
    assert operations("attention.mlir") == {
        "gemm_I64_J64_K32_transpose_b_True": 4,
        "gemm_I64_J32_K64": 4,
        "gemm_I64_J128_K128_activation_relu": 1,
    }


def test_all_else_stays_on_the_host() -> None:
    model = import_model(FOLDER / "attention.mlir")
    assert [h.name for h in model.host] == [
        *("multiply", "subtract", "divide", "reduce", "exponential", "transpose", "maximum")
    ]
    assert model.host[0].work == 3 * 4 * 64 * 64  # two operands and a result


def test_integers_are_multiplied_as_they_are_stored() -> None:
    assert operations("int8.mlir") == {"gemm_I32_J48_K64_transpose_b_True": 1}


def test_a_module_may_be_written_on_one_line(tmp_path: Path) -> None:
    lines = (FOLDER / "attention.mlir").read_text().splitlines()
    (path := tmp_path / "line.mlir").write_text(" ".join(lines))
    assert import_model(path).operations == import_model(FOLDER / "attention.mlir").operations


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("tensor<32x64xi8>", "tensor<?x64xi8>", "the size of a tensor is not known"),
        ("stablehlo.dot_general", "stablehlo.while", "how often stablehlo.while runs its operations is not known"),
        ("func.func public", "module", "a StableHLO module has functions; this has none"),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path: Path, old: str, new: str, reason: str) -> None:
    path = tmp_path / "changed.mlir"
    path.write_text((FOLDER / "int8.mlir").read_text().replace(old, new))
    with pytest.raises(ConfigError, match=reason.replace(".", r"\.")):
        import_model(path)


def test_functions_that_call_one_another_for_ever_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "loop.mlir"
    path.write_text(
        "func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"
    )
    with pytest.raises(ConfigError, match="calls itself"):
        import_model(path)


def test_calls_that_multiply_are_refused_before_they_are_written_out(tmp_path: Path) -> None:
    path = tmp_path / "many.mlir"
    call = "  %{0} = call @f{1}(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
    functions = [
        f"func.func public @{'main' if depth == 0 else f'f{depth}'}(%a: tensor<4xf32>) -> tensor<4xf32> {{\n"
        + "".join(call.format(number, depth + 1) for number in range(8))
        + "  return %0 : tensor<4xf32>\n}\n"
        for depth in range(12)
    ]
    leaf = "func.func @f12(%a: tensor<4xf32>) -> tensor<4xf32> {\n  return %a : tensor<4xf32>\n}\n"
    adding = leaf.replace("  return %a", "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n  return %0")
    path.write_text("".join([*functions, adding]))
    with pytest.raises(ConfigError, match="more than 65,536 operations"):
        import_model(path)
