"""Numbers as int8."""

import numpy as np
import pytest

from hwgen.ir.network.tensors import Quantisation


@pytest.mark.parametrize("unsigned", [False, True])
def test_what_is_no_number_becomes_the_lowest_as_in_onnx_runtime(unsigned: bool) -> None:
    numbers = np.array([np.nan, -np.nan, np.inf, -np.inf, 3e38, 0, 0.25], np.float32)
    assert Quantisation(0.1, 7, unsigned).values(numbers).tolist() == [-128, -128, 127, -128, 127, 7, 9]
