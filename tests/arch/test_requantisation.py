"""Settings of the requantiser: their values for a requantisation and back, and what the hardware refuses."""

import pytest

from hwgen.arch.requantisation import SHIFT, clip_settings, requantisation_of, scale_values, settings_for
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


def test_unchanged_sums_need_no_shift() -> None:
    assert scale_values(UNCHANGED, "layer") == {"shift": 0}
