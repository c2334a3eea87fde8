"""Errors that a right attention kernel may have."""

import numpy as np
import pytest

from autocomp.workload.tensor import OPERATIONS


@pytest.mark.parametrize(
    ("score", "weight", "right"),
    [
        (-16.23, np.float16(np.exp(-16.23)), True),  # of few digits: 1.5 times the smallest number becomes 2 times
        (-17.5, 0.0, True),  # below half of the smallest number
        (-9.0, 0.0, False),  # an ordinary number that is left out
    ],
)
def test_weights_may_underflow_where_the_type_of_the_inputs_does(score: float, weight: float, right: bool) -> None:
    dims = {"batch": 1, "heads": 1, "length": 2, "width": 1}
    columns = {"q": [1.0, 1.0], "k": [0.0, score], "v": [0.0, 1024.0]}
    given = {name: np.array(values).reshape(1, 1, 2, 1) for name, values in columns.items()}
    expected = OPERATIONS["attention"].expected(np, given, dims, "float16", {"causal": False})["o"]
    result = float(np.float16(weight * 1024.0))
    assert np.all((abs(expected.value - result) <= expected.tolerance) == right)
