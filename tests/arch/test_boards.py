"""Boards: their FPGAs as nextpnr names them, and the clocks that a PLL makes of an oscillator."""

import pytest

from hwgen.arch.boards import BOARDS, PFD_MHZ, VCO_MHZ, pll_of
from hwgen.arch.parameter_error import ParameterError


def test_fpgas_have_the_names_of_nextpnr() -> None:
    sizes = {name: BOARDS[name].size for name in ("ulx3s_12f", "ulx3s_85f", "versa_ecp5", "ecpix5_85f")}
    assert sizes == {"ulx3s_12f": "12k", "ulx3s_85f": "85k", "versa_ecp5": "um-45k", "ecpix5_85f": "um5g-85k"}


def test_no_pad_is_taken_twice() -> None:
    for name, board in BOARDS.items():
        if board.pins is not None:
            pads = [board.pins.clock, board.pins.rx, board.pins.tx, *board.pins.lights, *board.pins.high]
            assert len(set(pads)) == len(pads), name


@pytest.mark.parametrize(
    ("asked", "made"),
    [(3.125, 3.125), (25, 25), (33, 225 / 7), (40, 40), (48, 46.875), (50, 50), (62.5, 62.5), (80, 80), (400, 400)],
)
def test_a_pll_makes_the_highest_clock_up_to_the_one_that_is_asked_for(asked: float, made: float) -> None:
    pll = pll_of(25, asked)
    assert pll.mhz == pytest.approx(made)
    assert pll.mhz == pytest.approx(25 * pll.feedback / pll.reference)
    assert VCO_MHZ[0] <= pll.mhz * pll.output <= VCO_MHZ[1]
    assert PFD_MHZ[0] <= 25 / pll.reference


def test_it_is_that_of_ecppll_of_project_trellis() -> None:
    """``ecppll -i 25 -o 40`` prints these divisors, and 600 MHz inside."""
    pll = pll_of(25, 40)
    assert (pll.reference, pll.feedback, pll.output) == (5, 8, 15)


@pytest.mark.parametrize("asked", [0, 3, 401, -5, 1e9])
def test_a_clock_that_no_pll_makes_is_refused(asked: float) -> None:
    with pytest.raises(ParameterError, match=r"expected 3\.125 to 400 MHz, got"):
        pll_of(25, asked)
