"""Parameters that cannot be built are refused, each with its reason."""

from dataclasses import replace

import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.parameter_error import ParameterError
from hwgen.ir.lanes import Lanes

SOUND = HwcParameters(
    loops=tuple("myxcykml"),
    input_marker=4,
    weight_marker=4,
    output_marker=3,
    input_bytes=128,
    weight_bytes=128,
    output_bytes=768,
)


def test_depths_follow_from_the_bytes() -> None:
    assert (SOUND.input_depth, SOUND.weight_depth, SOUND.output_depth) == (8, 32, 12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loops": ("m", "z")}, "loops: expected dimensions out of m c y x k l"),
        ({"input_marker": 9}, "input_marker: expected 0 to 8, got 9"),
        ({"output_marker": 0}, "output_marker: loop m carries no reuse of O"),
        ({"lanes": Lanes(x=2)}, "lanes: expected powers of two along m, c, y, x, 4 to 256 together, got x2"),
        ({"lanes": Lanes(m=3, x=4)}, "lanes: expected powers of two along m, c, y, x, 4 to 256 together, got m3x4"),
        ({"input_bytes": 100}, "input_bytes: expected a multiple of 16 from 32 to 65536, got 100"),
        ({"weight_bytes": 4}, "weight_bytes: expected a multiple of 4 from 8 to 65536, got 4"),
        ({"bias_words": 24}, "bias_words: expected 0, or a power of two from 2 to 1024, got 24"),
        ({"bias_words": 1}, "bias_words: expected 0, or a power of two"),
        ({"bias_words": 2048}, "bias_words: expected 0, or a power of two"),
        ({"output_bytes": 96}, "output_bytes: expected a multiple of 64 from 128 to 65536, got 96"),
    ],
)
def test_refuses(change: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        replace(SOUND, **change)  # type: ignore[arg-type]
    assert str(error.value).startswith(message)
