"""The narrowest coordinates that layers can be lowered with."""

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.lower.hwc.fitting import fitted

HARDWARE = Hardware(name="wide", lanes=Lanes(x=16), budget=1 << 16)


def schedule(channels: int, width: int) -> Schedule:
    """One row of outputs of one channel each."""
    layer = Layer(
        name="row", input_channels=channels, output_channels=1, input_height=1, input_width=width, output_height=1,
        output_width=width, kernel=(1, 1),
    )  # fmt: skip
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


def test_narrower_coordinates_refuse_the_layer() -> None:
    narrow = HARDWARE.model_copy(update={"position_bits": 8})
    with pytest.raises(InputError, match=r"row: .*: expected below 256, got 256"):
        compile_layer(schedule(256, 20), narrow)
    with pytest.raises(InputError, match="expected below 256"):
        fitted(narrow, [schedule(256, 20)])
