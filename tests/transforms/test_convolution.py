"""What is known of the kernels of convolutions."""

from __future__ import annotations

from .convolutions import convolution, naive


def test_a_pooling_store_reads_the_results_that_biases_began() -> None:
    dims = {"N": 1, "H": 12, "W": 12, "C": 32, "K": 32, "R": 3, "S": 3}
    facts = naive(convolution(dims, pool="{size: 3, stride: 2, padding: 1}"))
    (results,) = (buffer for buffer in facts.buffers if buffer.memory == "acc")
    assert set(results.tensors) == {"bias", "output"}
    assert results.rows == 100
