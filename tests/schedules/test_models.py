"""The operations that the shipped schedules are for."""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.library.shapes import Shape, model_files, shapes

FILES = {file.stem: file for file in model_files()}
TOKENS, HIDDEN, INNER, LAYERS, HEADS = 128, 768, 3072, 12, 12
BERT_LAYER, VIT_LAYER = (
    tokens * (4 * HIDDEN**2 + 2 * HIDDEN * INNER) + 2 * HEADS * tokens * tokens * (HIDDEN // HEADS)
    for tokens in (TOKENS, 197)
)


@cache
def operations(model: str) -> list[Shape]:
    return list(shapes(FILES[model]))


@pytest.mark.parametrize(
    ("model", "multiply_accumulates"),
    [
        ("mobilenet_v2", 300e6),  # its paper, table 4
        ("resnet50", 4.09e9),  # with zeros of the padding, which ours leave out
        ("bert_base", LAYERS * BERT_LAYER + HIDDEN**2),
        ("mobilenet_v3", 219e6),  # its paper, table 3
        ("efficientnet_lite0", 390e6),  # EfficientNet-B0 in its paper, table 2, with squeeze-and-excite
        ("vit_b16", LAYERS * VIT_LAYER + 196 * HIDDEN**2 + 1000 * HIDDEN),
        ("dlrm", 128 * (13 * 512 + 512 * 256 + 256 * 128 + 479 * 1024 + 1024**2 + 1024 * 512 + 512 * 256 + 256)),
    ],
)
def test_the_operations_of_a_model_add_up_to_its_work(model: str, multiply_accumulates: float) -> None:
    work = sum(shape.count * shape.workload.multiply_accumulates for shape in operations(model))
    assert work == pytest.approx(multiply_accumulates, rel=0.04)


@pytest.mark.parametrize("model", FILES)
def test_no_operation_of_a_model_is_listed_twice(model: str) -> None:
    members = operations(model)
    names = [shape.workload.name for shape in members]
    assert len(set(names)) == len(names)
    assert len({shape.workload.digest for shape in members}) == len(names)
