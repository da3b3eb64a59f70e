"""Settings of the requantiser: their values for a requantisation and back, and what the hardware refuses."""

import numpy as np
import pytest

from hwgen.arch.requantisation import (
    SHIFT,
    bias_records,
    clip_settings,
    record_bytes,
    records_content,
    requantisation_of,
    requantiser_settings,
    scale_values,
    scaled_requantisation,
    scaled_values,
    settings_for,
)
from hwgen.ir.document import InputError
from hwgen.ir.requantisation import UNCHANGED, Requantisation, Scale


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("ceiling", [None, 0, 100])
@pytest.mark.parametrize("shift", [0, 31])
def test_values_come_back_and_fit(bits: int, relu: bool, ceiling: int | None, shift: int) -> None:
    form = Requantisation.shifted(shift, relu=relu, ceiling=ceiling)
    values = settings_for(form, "layer", bits)
    most = (1 << (bits - 1)) - 1
    expected = {"shift": shift, "relu": int(relu), "ceiling": most if ceiling is None else ceiling}
    assert {name: values[name] for name in expected} == expected
    settings = (SHIFT, *clip_settings(bits))
    assert {setting.name for setting in settings} == set(values)
    assert all(values[setting.name] < 1 << setting.width for setting in settings)
    assert requantisation_of(values) == Requantisation.shifted(shift, relu=relu, ceiling=values["ceiling"])


def test_a_multiplier_is_read_where_there_is_one() -> None:
    values = {"multiplier": 7, "shift": 15, "relu": 1, "ceiling": 127}
    assert requantisation_of(values) == Requantisation((Scale(7, 15),), low=0, high=127)


def test_products_are_shifted_only_where_the_hardware_does() -> None:
    form = Requantisation.shifted(product_shift=3)
    with pytest.raises(InputError, match="layer: product_shift: this hardware does not shift products"):
        settings_for(form, "layer")
    assert settings_for(form, "layer", 16, shifts_products=True)["shift"] == 0


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (Requantisation((Scale(), Scale())), "scales: the hardware has one for all output channels, got 2"),
        (Requantisation((Scale(3, 4),)), "multiplier: the hardware scales sums by a shift alone, got 3"),
        (Requantisation((Scale(1, 32),)), "shift: expected below 32, got 32"),
        (Requantisation(zero_in=1), "zero points: the hardware has none but 0"),
        (Requantisation(zero_out=1), "zero points: the hardware has none but 0"),
        (Requantisation(table=(0,) * 256), "table: the hardware has none for activations"),
        (Requantisation(low=1), "clip: the hardware clips from -128 or 0 on to 0 or more"),
        (Requantisation(high=-1), "clip: the hardware clips from -128 or 0 on to 0 or more"),
        (Requantisation(high=128), "high: expected -128 to 127, got 128"),
    ],
)
def test_what_the_hardware_does_not_do_is_refused(form: Requantisation, message: str) -> None:
    with pytest.raises(InputError, match=f"^layer: {message}"):
        settings_for(form, "layer")


SCALES = (Scale(1, 0), Scale((1 << 16) - 1, 47), Scale(1 << 15, 15))
FORM = Requantisation(SCALES, zero_in=-128, zero_out=127, low=-5, high=-1)


def test_values_of_scaled_sums_come_back_and_fit() -> None:
    values = scaled_values(FORM, "layer")
    assert values == {"zero_in": 128, "zero_out": 127, "low": 251, "high": 255}
    settings = requantiser_settings("scaled")
    assert [setting.name for setting in settings] == list(values)
    assert all(values[setting.name] < 1 << setting.width for setting in settings)
    assert scaled_requantisation(values, SCALES) == FORM
    assert scaled_values(UNCHANGED, "layer") == {"zero_in": 0, "zero_out": 0, "low": 128, "high": 127}


def test_records_are_biases_with_the_scales_of_their_channels() -> None:
    bias = np.array([-1, 1 << 30, -(1 << 31)], np.int32)
    content = bias_records(bias, SCALES, "scaled")
    words = content.view("<u4").tolist()
    assert words == [0xFFFFFFFF, 0x00000001, 0x40000000, 0x002FFFFF, 0x80000000, 0x000F8000]
    assert content.size == 3 * record_bytes("scaled")
    found, scales = records_content(content, "scaled")
    assert (found.tolist(), scales) == (bias.tolist(), SCALES)
    assert bias_records(bias, SCALES[2:], "scaled").view("<u4")[1::2].tolist() == [0x000F8000] * 3
    plain = bias_records(bias, (), "shift")
    assert plain.view("<i4").tolist() == bias.tolist()
    assert records_content(plain, "shift")[1] == ()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (Requantisation((Scale(), Scale(1 << 16, 40))), "multiplier: expected at most 65535, got 65536"),
        (Requantisation(product_shift=1), "product_shift: this hardware does not shift products"),
        (Requantisation(zero_in=128), "zero_in: expected -128 to 127, got 128"),
        (Requantisation(zero_out=-129), "zero_out: expected -128 to 127, got -129"),
        (Requantisation(table=(0,) * 256), "table: the hardware has none for activations"),
        (Requantisation(low=4, high=3), "high: expected 4 to 127, got 3"),
    ],
)
def test_what_hardware_that_scales_does_not_do_is_refused(form: Requantisation, message: str) -> None:
    with pytest.raises(InputError, match=f"^layer: {message}"):
        scaled_values(form, "layer")


def test_unchanged_sums_need_no_shift() -> None:
    assert scale_values(UNCHANGED, "layer") == {"shift": 0}
