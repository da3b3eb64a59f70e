"""The nests of published engines, counted by hand and by the literal walk."""

from hwgen.ir.counts import Access
from hwgen.ir.lanes import ONE_LANE, Lanes
from hwgen.ir.layer import DIMS, Layer
from hwgen.ir.schedule import Loop, Schedule
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.studies.regress.published_nests import hwce, hwce_stripe
from tests.oracles.nest_walk import walk

SMALL = Layer(name="small", input_channels=4, output_channels=6, input_height=8, input_width=8, kernel=3)


def test_hwce_by_hand() -> None:
    found = predict(hwce(SMALL))
    pairs = 6 * 4
    assert found.counts["tcdm", "I", "read"].elements == pairs * 64
    assert found.counts["tcdm", "W", "read"].elements == pairs * 9
    assert found.counts["tcdm", "O", "write"].elements == 6 * 36
    assert found.counts["tcdm", "O", "write_partial"].bytes == 6 * 3 * 36 * 4
    assert found.need == PerOperand(I=3 * 8, W=9, O=1)
    assert found.counts.differences(walk(hwce(SMALL)).counts) == []


def test_hwce_stripes() -> None:
    assert hwce_stripe(SMALL, 3 * 8 + 9 + 4) == 6
    assert hwce_stripe(SMALL, 3 * 8 + 9 + 3) == 5
    assert hwce_stripe(SMALL, 3 * 3 + 9 + 3) is None
    assert predict(hwce(SMALL, 3)).counts["tcdm", "I", "read"].elements == 6 * 4 * 8 * (5 + 5)


def test_hwce_does_not_fit_the_layers_that_the_paper_leaves_out() -> None:
    first = Layer(
        name="alexnet_1", input_channels=3, output_channels=96, input_height=224, input_width=224, kernel=11,
        stride=4, padding=2,
    )  # fmt: skip
    assert predict(hwce(first)).need.I == 11 * 224
    assert predict(hwce(first)).need_bytes.total > 1024


def unbuffered(lanes: Lanes = ONE_LANE) -> Schedule:
    """The canonical nest (Fig. 2) without any local buffer: every lane vector fetches and writes all it touches."""
    loops = tuple(Loop(dim, min(lanes.along(dim), SMALL.extents[dim])) for dim in DIMS)
    return Schedule(layer=SMALL, nest=loops, lanes=lanes)


def test_without_buffers_every_operation_moves_everything() -> None:
    counts = predict(unbuffered()).counts
    assert counts["tcdm", "I", "read"] == counts["tcdm", "W", "read"] == Access(SMALL.macs, SMALL.macs, SMALL.macs)
    assert counts["tcdm", "O", "write_partial"].elements == 6 * 36 * (4 * 9 - 1)
    lanes = predict(unbuffered(lanes=Lanes(x=16)))
    assert lanes.counts["tcdm", "W", "read"].elements == SMALL.macs // 6
    assert lanes.iterations == SMALL.macs // 6
