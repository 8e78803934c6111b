"""The comparison that examples rely on can fail."""

import numpy as np
import pytest

from tilewright import golden


def test_errors_are_found():
    a = np.array([1.0, 2.0, np.nan, np.inf], np.float32)
    assert golden.error(a, a, 0, 0) == (0.0, 0)
    assert golden.error(a, [1.0, 2.5, np.nan, np.inf], 0, 0) == (0.5, 1)
    assert golden.error(a, [1.0, 2.5, np.nan, np.inf], 0.2, 0)[1] == 0
    assert golden.error(a, [1.0, 2.0, 0.0, np.inf], 1, 1)[1] == 1
    assert golden.error(a, [1.0, 2.0, np.nan, -np.inf], 1, 1)[1] == 1


def test_integers_are_exact():
    assert golden.error(np.array([100], np.int32), [101], 1, 1)[1] == 1


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="shape"):
        golden.error(np.zeros((2, 2)), np.zeros(4), 0, 0)
