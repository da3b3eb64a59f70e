"""Hardware that is no wider than its layers need."""

import json
from dataclasses import asdict

import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import address_bits, hwc_registers, setting_widths
from hwgen.arch.requantisation import SCALED
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import Requantisation
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.lower.hwc.fitting import fitted, narrowed

HARDWARE = Hardware(name="wide", lanes=Lanes(x=16), budget=1 << 16)


def schedule(channels: int, width: int) -> Schedule:
    """One row of outputs of one channel each."""
    layer = Layer(name="row", input_channels=channels, output_channels=1, input_height=1, input_width=width, kernel=1)
    nest = (Loop("x", 16), Marker(("O",)), Loop("c", 1))
    return Schedule(layer=layer, nest=nest, lanes=Lanes(x=16))


@pytest.mark.parametrize(
    ("channels", "width", "bits"),
    [
        (3, 20, 8),
        (255, 20, 8),
        (256, 20, 9),
        (3, 253, 9),  # rows are 256 bytes apart
        (3, 1000, 10),
        (65535, 20, 16),
    ],
)
def test_the_widest_number_decides(channels: int, width: int, bits: int) -> None:
    assert fitted(HARDWARE, [schedule(3, 20), schedule(channels, width)]).position_bits == bits


def test_coordinates_alone_are_narrowed() -> None:
    """Settings stay registers; a later layer that does not fit is refused in one line."""
    found = narrowed(HARDWARE, [schedule(3, 20), schedule(256, 20)])
    assert found == HARDWARE.model_copy(update={"position_bits": 9})
    compile_layer(schedule(511, 20), found)
    with pytest.raises(InputError, match=r"^row: .*: expected below 512, got 512$"):
        compile_layer(schedule(512, 20), found)


def test_narrower_coordinates_refuse_the_layer() -> None:
    narrow = HARDWARE.model_copy(update={"position_bits": 8})
    with pytest.raises(InputError, match=r"row: .*: expected below 256, got 256"):
        compile_layer(schedule(256, 20), narrow)
    with pytest.raises(InputError, match="expected below 256"):
        fitted(narrow, [schedule(256, 20)])


def test_settings_of_a_quantisation_stay_registers() -> None:
    """Schedules do not say what a quantised network needs of them."""
    hardware = HARDWARE.model_copy(update={"requantisation": "scaled"})
    schedules = [schedule(channels, 20).model_copy(update={"requantisation": "scaled"}) for channels in (3, 5)]
    found = fitted(hardware, schedules)
    names = {setting.name for setting in SCALED}
    assert not names & {*(found.constants or {}), *(found.setting_bits or {})}
    form = Requantisation(zero_in=-3, zero_out=7, low=-100, high=100)
    written = {name for name, _, _ in compile_layer(schedules[0], found, form).registers}
    assert names <= written


def test_settings_that_layers_have_alike_are_constants() -> None:
    schedules = [schedule(3, 20), schedule(5, 40)]
    hardware = fitted(HARDWARE, schedules)
    assert hardware.constants is not None
    assert hardware.setting_bits is not None
    assert hardware.constants["stride_x"] == 1
    assert hardware.constants["step_0_x"] == 16
    assert hardware.setting_bits["extent_x"] == 6
    assert hardware.setting_bits["group_inputs"] == 3
    assert not [name for name in hardware.constants if name.endswith("_base")]
    assert {bits for name, bits in hardware.setting_bits.items() if name.endswith(("_base", "_last"))} == {24}
    assert "program_digest" not in {**hardware.constants, **hardware.setting_bits}
    for one in schedules:
        (wide, narrow) = (compile_layer(one, machine) for machine in (HARDWARE, hardware))
        values = {name: value for name, _, value in narrow.registers}
        expected = {name: value for name, _, value in wide.registers}
        assert {**values, **hardware.constants} | {"program_digest": 0} == {**expected, "program_digest": 0}
        assert hwc_registers(narrow.parameters)["extent_x"].width == 6
        assert setting_widths(narrow.parameters)["extent_x"] == 6 < hardware.position_bits
    assert fitted(hardware, schedules) == hardware


def test_addresses_are_as_wide_as_16_mib_need_or_as_the_layers() -> None:
    few, many = schedule(3, 20), schedule(400, 60_000)
    for one, bits in ((few, 24), (many, 25)):
        assert address_bits(compile_layer(one, HARDWARE).parameters) == 32
        assert address_bits(compile_layer(one, fitted(HARDWARE, [one])).parameters) == bits
    asked = HARDWARE.model_copy(update={"setting_bits": {"input_base": 32}})
    assert address_bits(compile_layer(few, fitted(asked, [few])).parameters) == 32
    low = HARDWARE.model_copy(update={"setting_bits": {"output_base": 24}})
    with pytest.raises(InputError, match=r"row: Byte address of the output: expected below 16777216, got \d+"):
        compile_layer(many, low)


def test_what_hardware_is_not_fitted_for_is_refused_with_the_reason() -> None:
    hardware = fitted(HARDWARE, [schedule(3, 20), schedule(3, 40)])
    with pytest.raises(InputError, match=r"row: (extent_c|group_inputs): the hardware is fitted to 3, got 5"):
        compile_layer(schedule(5, 20), hardware)
    with pytest.raises(InputError, match=r"row: .*: expected below \d+, got \d+"):
        compile_layer(schedule(3, 200), hardware)
    wrong = HARDWARE.model_copy(update={"constants": {"stride_z": 1}})
    with pytest.raises(InputError, match="expected settings of the HWC, got stride_z"):
        compile_layer(schedule(3, 20), wrong)


def test_parameters_of_fitted_hardware_survive_their_document() -> None:
    one = schedule(3, 20)
    parameters = compile_layer(one, fitted(HARDWARE, [one])).parameters
    assert parameters.constants
    assert HwcParameters.from_data(json.loads(json.dumps(asdict(parameters)))) == parameters
    assert parameters.digest != compile_layer(one, HARDWARE).parameters.digest
