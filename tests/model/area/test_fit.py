"""Nonnegative least squares."""

import numpy as np
import pytest

from hwgen.model.area.fit import nonnegative


def test_coefficients_are_found() -> None:
    rng = np.random.default_rng(1)
    terms, wanted = rng.uniform(0, 9, (30, 5)), np.array([3.0, 0.0, 0.5, 12.0, 0.0])
    assert nonnegative(terms, terms @ wanted, np.ones(30)) == pytest.approx(wanted, abs=1e-9)


def test_none_is_below_zero() -> None:
    """Without the limit the second one would be: 2, -1."""
    terms = np.array([[1.0, 0.0], [1.0, 1.0]])
    found = nonnegative(terms, np.array([2.0, 1.0]), np.ones(2))
    assert found == pytest.approx([1.5, 0.0])


def test_weights_make_errors_relative() -> None:
    terms, measured = np.ones((2, 1)), np.array([1.0, 2.0])
    assert nonnegative(terms, measured, np.ones(2)) == pytest.approx([1.5])
    assert nonnegative(terms, measured, 1 / measured) == pytest.approx([1.2])


def test_terms_that_grow_alike_share() -> None:
    terms = np.array([[1.0, 1.0], [2.0, 2.0]])
    found = nonnegative(terms, np.array([2.0, 4.0]), np.ones(2), ridge=1e-6)
    assert found == pytest.approx([1.0, 1.0], abs=1e-3)


def test_a_term_that_no_design_has_is_nothing() -> None:
    assert nonnegative(np.array([[1.0, 0.0]]), np.array([2.0]), np.ones(1)) == pytest.approx([2.0, 0.0])
