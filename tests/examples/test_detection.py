"""BlazeFace's numbers as faces."""

import numpy as np
import pytest

from examples.face.detection import anchors, faces, overlap


def test_anchors() -> None:
    found = anchors()
    assert found.shape == (896, 2)
    np.testing.assert_allclose(found[[0, 1, 2, 511]], [(1 / 32, 1 / 32)] * 2 + [(3 / 32, 1 / 32), (31 / 32, 31 / 32)])
    np.testing.assert_allclose(
        found[[512, 517, 518, 895]], [(1 / 16, 1 / 16)] * 2 + [(3 / 16, 1 / 16), (15 / 16, 15 / 16)]
    )


def test_boxes_of_one_face_are_averaged_by_score() -> None:
    regressors, logits = np.zeros((1, 896, 16)), np.full((1, 896, 1), -5.0)
    logits[0, [0, 1, 895], 0] = 3.0, 1.0, 0.5
    regressors[0, [0, 1, 895], 2:4] = 16  # pixels, on anchors of one place and of the far corner
    regressors[0, 1, 0] = 4
    first, second = faces(regressors, logits)
    weights = 1 / (1 + np.exp(-np.array([3.0, 1.0])))
    shift = 4 / 128 * weights[1] / weights.sum()
    assert (first.score, second.score) == (pytest.approx(weights[0]), pytest.approx(1 / (1 + np.exp(-0.5))))
    assert first.box == pytest.approx((1 / 32 - 1 / 16 + shift, 1 / 32 - 1 / 16, 3 / 32 + shift, 3 / 32))
    assert second.box == pytest.approx((14 / 16, 14 / 16, 1, 1))
    assert second.points[0] == pytest.approx((15 / 16, 15 / 16))


def test_overlap() -> None:
    assert overlap((0, 0, 2, 2), (1, 1, 3, 3)) == pytest.approx(1 / 7)
    assert overlap((0, 0, 1, 1), (1, 0, 2, 1)) == 0
    assert overlap((0, 0, 1, 1), (0, 0, 1, 1)) == pytest.approx(1)
