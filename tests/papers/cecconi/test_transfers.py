"""Transfers of tiles by our own DMA: descriptors against the counts of the model, kinds, claims, the RTL."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from hwgen.ir.layer import Layer
from hwgen.papers.cecconi.claims import tiling_claims
from hwgen.papers.cecconi.measured import moved_in_rtl
from hwgen.papers.cecconi.model import exact_moves, exact_need
from hwgen.papers.cecconi.own_hardware import SMALL
from hwgen.papers.cecconi.transfers import (
    Timed,
    TransferRow,
    places,
    predicted,
    tile_transfers,
    transfer_cases,
    transfer_row,
    transfer_table,
)
from hwgen.papers.own_cluster_rtl import DEFAULT, calibrated
from hwgen.papers.stoutchinin.model import Tile
from tests.random.nests import random_layer

EVEN = Layer(
    name="even", input_channels=4, output_channels=6, input_height=8, input_width=12, kernel=3, stride=2, padding=1
)


def test_transfers_of_a_tile_by_hand() -> None:
    """Inputs of 8 x 12 in the first 1,536 bytes, weights from 4,096 on, biases from 8,192, outputs from 12,288."""
    moves = list(tile_transfers(EVEN, Tile(y=2, x=6, c=3, m=4), 2048))
    assert moves[:4] == [
        (True, Descriptor(4 * 12 * 4, OperandTag.I, RingSelect.FIXED, 0, 0, 3, 1, 8 * 12 * 4, 0, 4 * 12 * 4)),
        (True, Descriptor(3 * 9 * 4, OperandTag.W, RingSelect.FIXED, 4096, 0, 4, 1, 4 * 9 * 4, 0, 3 * 9 * 4)),
        (True, Descriptor(4 * 4, OperandTag.B, RingSelect.FIXED, 8192, 0)),
        (False, Descriptor(2 * 6 * 4, OperandTag.O, RingSelect.FIXED, 12288, 0, 4, 1, 4 * 6 * 4, 0, 2 * 6 * 4)),
    ]
    # The last channel of the same rows, in the other half; then partial sums are read.
    assert moves[7] == (True, Descriptor(4 * 12 * 4, OperandTag.I, RingSelect.FIXED, 3 * 8 * 12 * 4, 2048))
    assert [(loads, move.tag.name) for loads, move in moves[8:12]] == [
        (True, "W"), (True, "B"), (True, "O"), (False, "O"),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_transfers_are_those_of_the_model(seed: int) -> None:
    rng = Random(seed)
    layer = EVEN
    while layer.groups > 1 or layer is EVEN or any(s > k for s, k in zip(layer.stride, layer.kernel, strict=True)):
        layer = random_layer(rng, most_macs=4000, most_stride=2)
    extents = (layer.outputs_per_group, layer.channels_per_group, layer.output_height, layer.output_width)
    tile = Tile(*(rng.randint(1, extent) for extent in extents))
    moves = list(tile_transfers(layer, tile, 4 * exact_need(layer, tile)))
    found = Counter[tuple[str, str]]()
    for loads, move in moves:
        operand = "W" if move.tag == OperandTag.B else move.tag.name
        found[operand, "transfers"] += move.tag != OperandTag.B
        found[operand, "runs"] += move.count_1 * move.count_2
        found[operand, "elements"] += move.bytes // 4
        assert loads or move.tag == OperandTag.O
        first, end = places(layer)[move.tag]
        assert first <= move.dram_address < move.dram_end <= end
        assert move.tcdm_address + move.bytes <= 8 * exact_need(layer, tile)
    for operand, one in exact_moves(layer, tile)._asdict().items():
        assert {name: found[operand, name] for name in one._fields} == one._asdict()


def test_some_transfers_stand_for_all() -> None:
    """Of the small layers: each within 2 % of all of its transfers, all together within 0.5 %."""
    cluster = calibrated(DEFAULT)
    sums = {}
    for layer in SMALL.layers:
        some, whole = (list(transfer_cases(layer, cluster, SMALL.elements, limit)) for limit in (0, 1e9))
        for chosen, every in zip(some, whole, strict=True):
            assert chosen.of == every.of == len(every.weights) >= len(chosen.weights)
            assert sum(chosen.weights) == pytest.approx(every.of)
            moved = (*chosen.moved.loads, *chosen.moved.stores)
            row = transfer_row(chosen, cluster)
            assert sum(w * move.bytes for w, move in zip(chosen.weights, moved, strict=True)) == pytest.approx(
                row.bytes
            )
            sums[layer.name, chosen.tiles] = row.expected, transfer_row(every, cluster).expected
    for estimate, exact in sums.values():
        assert estimate == pytest.approx(exact, rel=0.02)
    estimates, exacts = (sum(column) for column in zip(*sums.values(), strict=True))
    assert estimates == pytest.approx(exacts, rel=0.005)


ROW = TransferRow("conv5", "naive", "1 x 1 x 1 x 1", 3, 9, 4000, 100.0, 500.0)


def test_fig_4_is_judged_both_ways() -> None:
    def judged(*rows: TransferRow) -> tuple[str, str]:
        claims = tiling_claims(SMALL.layers, [], (), "", rows, "some layers")
        (claim,) = (claim for claim in claims if claim.where == "6.2, Fig. 4")
        return claim.verdict, claim.found

    best = replace(ROW, tiles="best", expected=100.0)
    assert judged()[0] == "not judged"
    assert judged(ROW, best)[0] == "reproduced in another reading"
    assert judged(ROW, replace(best, expected=112.0))[0] == "not reproduced"
    assert judged(ROW, replace(best, expected=80.0))[0] == "exceeded"
    worse = replace(ROW, layer="conv6", expected=50.0), replace(best, layer="conv6", expected=51.0)
    assert judged(replace(ROW, expected=650.0), replace(best, expected=90.0), *worse)[0] == "not reproduced"
    # What was simulated counts, not what was predicted.
    assert judged(replace(ROW, cycles=900.0, equal=True), replace(best, cycles=100.0, equal=True))[0] == "exceeded"


@pytest.mark.parametrize("name", ["conv3_1", "conv5"])
def test_small_layers_in_the_rtl(name: str) -> None:
    """All transfers of both tiles: data, counts and cycles."""
    cluster = calibrated(DEFAULT)
    (layer,) = (layer for layer in SMALL.layers if layer.name == name)
    rows = [
        transfer_row(case, cluster, moved_in_rtl) for case in transfer_cases(layer, cluster, SMALL.elements, 250_000)
    ]
    assert [row.tiles for row in rows] == ["naive", "best"]
    for row in rows:
        assert row.equal
        assert row.cycles == pytest.approx(row.expected, rel=0.02)
        assert row.transfers == row.of
        assert row.bytes_a_cycle == row.bytes / row.cycles < 8
    assert "NO" not in "\n".join(transfer_table(rows, "small"))


def test_cycles_that_are_off_are_told() -> None:
    cluster = calibrated(DEFAULT)
    case = next(transfer_cases(SMALL.layers[-1], cluster, SMALL.elements, 0))
    expected = predicted(case.moved, DmaParameters(), cluster.dram or Dram())
    for factor, right, equal in ((1.01, True, True), (1.03, True, False), (0.97, True, False), (1.0, False, False)):
        timed = Timed(tuple(round(factor * one) for one in expected.cycles))
        row = transfer_row(case, cluster, lambda *_, timed=timed, right=right: (timed, right))
        assert row.equal == equal
        assert ("NO" in transfer_table([row], "small")[-1]) != equal
