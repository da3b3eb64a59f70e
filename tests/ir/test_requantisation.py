"""Requantisation as a value: its forms, its activations, and what is refused."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

from hwgen.ir.document import InputError
from hwgen.ir.requantisation import (
    ACTIVATIONS,
    UNCHANGED,
    GivenRequantisation,
    Requantisation,
    Scale,
    safe_product_shift,
    usual_shift,
)


def test_the_form_of_layers_without_quantisation() -> None:
    form = Requantisation.shifted(7, relu=True, ceiling=100, product_shift=2)
    assert form == Requantisation((Scale(1, 7),), low=0, high=100, product_shift=2)
    assert (form.relu, form.bounds(8)) == (True, (0, 100))
    assert Requantisation.shifted() == UNCHANGED
    assert (UNCHANGED.relu, UNCHANGED.bounds(8), UNCHANGED.bounds(16)) == (False, (-128, 127), (-32768, 32767))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("ceiling", [100, 127])
def test_data_come_back(relu: bool, ceiling: int) -> None:
    form = Requantisation.shifted(3, relu=relu, ceiling=ceiling, product_shift=4)
    data = form.as_data(8)
    expected = {"shift": 3, "relu": relu, "ceiling": ceiling, "product_shift": 4}
    assert {name: data[name] for name in expected} == expected
    assert Requantisation.shifted(**data) == form


def test_without_a_ceiling_the_data_name_the_largest_output() -> None:
    assert UNCHANGED.as_data(8)["ceiling"] == 127
    assert UNCHANGED.as_data(16)["ceiling"] == 32767


@pytest.mark.parametrize(
    "form",
    [
        Requantisation((Scale(3, 4),)),
        Requantisation(zero_out=3),
        Requantisation(low=-5),
        Requantisation(table=(0,) * 256),
    ],
)
def test_other_forms_have_no_such_data(form: Requantisation) -> None:
    with pytest.raises(ValueError, match="expected a shift, ReLU and a ceiling only"):
        form.as_data(8)


def test_a_rectifier_clips_at_the_zero_point() -> None:
    assert Requantisation.shifted(2).activated("relu", "row") == Requantisation.shifted(2, relu=True)
    assert Requantisation(zero_out=-5).activated("relu", "row").bounds(8) == (-5, 127)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_an_activation_changes_no_scale(name: str) -> None:
    form = Requantisation.shifted(2, ceiling=99, product_shift=1)
    made = form.activated(name, "row")
    assert made != form
    assert (made.scales, made.high, made.product_shift) == (form.scales, 99, 1)


def test_activations_that_are_not_there() -> None:
    assert UNCHANGED.activated(None, "row") is UNCHANGED
    with pytest.raises(InputError, match=r"^row: activation: expected one of relu, relu6, .*, got tanh$"):
        UNCHANGED.activated("tanh", "row")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scales": ()}, "scales: expected one for all output channels, or one for each, got none"),
        ({"table": (0,) * 255}, "table: expected 256 entries, got 255"),
        ({"product_shift": 32}, "product_shift: expected 0 to 31, got 32"),
    ],
)
def test_refused_values(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(UNCHANGED, **change)  # type: ignore[arg-type]


@pytest.mark.parametrize("shift", [-1, 32])
def test_shifts_out_of_range(shift: int) -> None:
    with pytest.raises(ValueError, match="shift: expected 0 to 31"):
        Requantisation.shifted(shift)


def test_scales_out_of_range() -> None:
    with pytest.raises(ValueError, match="multiplier: expected 0 to 65536, got 65537"):
        Scale(65537)
    with pytest.raises(ValueError, match="shift: expected 0 to 47, got 48"):
        Scale(1, 48)


@pytest.mark.parametrize(
    ("form", "bits", "message"),
    [
        (Requantisation(high=128), 8, "high: expected -128 to 127, got 128"),
        (Requantisation(low=-129), 8, "low: expected -128 to 127, got -129"),
        (Requantisation(low=5, high=4), 16, "high: expected 5 to 32767, got 4"),
    ],
)
def test_bounds_outside_the_range(form: Requantisation, bits: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        form.bounds(bits)


def test_what_is_not_given_follows_from_the_shape() -> None:
    assert GivenRequantisation().complete(27, 8) == Requantisation.shifted(usual_shift(27, 8))
    wide = GivenRequantisation().complete(27, 16)
    assert wide.product_shift == safe_product_shift(27, 16) == 4
    assert wide.scales == (Scale(shift=usual_shift(27, 16, 4)),)
    given = GivenRequantisation(shift=3, relu=True, ceiling=50, product_shift=1)
    assert given.complete(27, 16) == Requantisation.shifted(3, relu=True, ceiling=50, product_shift=1)


@pytest.mark.parametrize(("products", "shift"), [(1, 6), (4, 7), (9, 8), (27, 9), (2304, 12), (25088, 14)])
def test_the_usual_shift(products: int, shift: int) -> None:
    """log2(128 / sqrt(3) * sqrt(products)), rounded; with 16-bit operands 8 more, less what products are shifted."""
    assert usual_shift(products, 8) == shift
    assert usual_shift(products, 16) == shift + 8
    assert usual_shift(products, 16, 5) == shift + 3
    assert usual_shift(1 << 50, 16) == 31


def test_an_activation_fills_in_what_is_not_given() -> None:
    assert GivenRequantisation(shift=3).activated("relu") == GivenRequantisation(shift=3, relu=True)
    assert GivenRequantisation(relu=False).activated("relu") == GivenRequantisation(relu=False)
    for name in (None, "tanh"):
        assert GivenRequantisation().activated(name) == GivenRequantisation()


@pytest.mark.parametrize("form", [UNCHANGED, Requantisation.shifted(7, relu=True, ceiling=100, product_shift=2)])
def test_any_requantisation_of_a_shift_can_be_given(form: Requantisation) -> None:
    given = GivenRequantisation.of(form, 8)
    assert given.complete(99, 8).as_data(8) == form.as_data(8)
    assert GivenRequantisation(**given.model_dump()) == given


@drawn(st.floats(2.0**-60, 1 << 15, exclude_max=True))
def test_the_nearest_scale_has_the_largest_multiplier_that_fits(factor: float) -> None:
    scale = Scale.nearest(factor)
    error = abs(Fraction(scale.multiplier, 1 << scale.shift) - Fraction(factor))
    assert 1 <= scale.shift <= 47
    assert scale.multiplier < 1 << 16
    assert error <= Fraction(1, 1 << (scale.shift + 1))
    assert scale.multiplier >= 1 << 15 or scale.shift == 47


@pytest.mark.parametrize(
    ("factor", "scale"),
    [
        (1.0, Scale(1 << 15, 15)),
        (0.3, Scale(39322, 17)),
        (2.0**-32 * (1 - 2.0**-40), Scale(1 << 15, 47)),
        (0.5 - 2.0**-30, Scale(1 << 15, 16)),  # rounds up to a multiplier of 17 bits
        ((1 << 15) - 0.5, Scale((1 << 16) - 1, 1)),
        (65535.6 / 65536, Scale(1 << 15, 15)),
        (2.0**-40, Scale(128, 47)),
    ],
)
def test_the_nearest_scale_by_hand(factor: float, scale: Scale) -> None:
    assert Scale.nearest(factor) == scale


def test_common_scales_have_the_shift_of_the_greatest() -> None:
    assert Scale.common([0.75, 0.001]) == (Scale(49152, 16), Scale(66, 16))


@pytest.mark.parametrize("factors", [[0.0], [-1.0], [float(1 << 15)], [float("nan")], [float("inf")], [1.0, 0.0]])
def test_factors_without_a_scale(factors: list[float]) -> None:
    with pytest.raises(ValueError, match=r"scale: expected (factors above 0, got|a factor below 32768, got 32768)"):
        Scale.common(factors)
