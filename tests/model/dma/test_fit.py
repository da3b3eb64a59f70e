"""The fit of a DMA's three parameters: exact where the law holds, in proportion where it does not."""

import pytest

from hwgen.model.dma.fit import Transfer, fit_cost


def test_transfers_that_follow_the_law() -> None:
    sizes = [(1, 64), (3, 90), (10, 1000), (7, 20_000), (40, 41)]
    found = fit_cost([Transfer(runs, size, 100 + 10 * runs + 2 * size) for runs, size in sizes])
    assert (found.transfer, found.run, found.byte) == pytest.approx((100, 10, 2))
    assert found.largest == pytest.approx(0, abs=1e-9)
    assert found.cycles(Transfer(2, 5, 0)) == pytest.approx(130)


def test_errors_are_relative() -> None:
    found = fit_cost([Transfer(1, 100, 90), Transfer(1, 100, 110), Transfer(1, 1000, 1000), Transfer(2, 100, 100)])
    assert 0.02 < found.mean <= found.percentile_95 <= found.largest < 0.12


def test_nothing_costs_less_than_nothing() -> None:
    found = fit_cost([Transfer(1, 100, 100), Transfer(5, 100, 60), Transfer(9, 100, 20), Transfer(2, 50, 45)])
    assert min(found.transfer, found.run, found.byte) == 0.0


def test_too_few() -> None:
    with pytest.raises(ValueError, match="transfers: expected at least 3, got 2"):
        fit_cost([Transfer(1, 1, 1)] * 2)
