"""Sizes of the rings without their contents, against the rings themselves."""

import re
from itertools import product

import pytest

from hwgen.arch.layout import aligned
from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import AS_IT_IS, Form, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.model.cluster.input_ring import input_ring
from hwgen.model.cluster.placement import (
    LEAST_HALF,
    OutputRow,
    Placed,
    TcdmPlacement,
    place,
    place_in,
    spills_from_local,
)
from hwgen.model.cluster.residence import Residence
from hwgen.model.cluster.ring_sizes import bytes_needed, ring_bytes
from hwgen.model.cluster.whole_maps import held_whole, require_whole, resident_plane
from tests.random.cluster_nests import cluster_cases


@pytest.mark.parametrize("images", [False, True])
def test_bytes_needed_are_those_of_the_placement(images: bool) -> None:
    compared = walked = 0
    for schedule, _ in cluster_cases(20260, 160, images=images):
        try:
            size = place(schedule).size
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(str(error))):
                bytes_needed(schedule, 1 << 30)
            continue
        compared += 1
        case = schedule.as_data()
        assert {array: ring_bytes(schedule, array) for array in ARRAYS} == {
            array: place(schedule)[array].size for array in ARRAYS
        }
        ring = input_ring(schedule)
        assert ring in (None, place(schedule).I.size), case
        walked += ring is not None
        assert bytes_needed(schedule, size) == size, case
        assert size - 1 < bytes_needed(schedule, size - 1) <= size, case
    assert compared > 120
    assert walked > 80 or (images and not walked)


def test_tiles_in_halves_take_turns() -> None:
    """What one iteration touches is in one half, whole; the next one's in the other."""
    checked = 0
    for schedule, _ in cluster_cases(20261, 150):
        for array in (array for array in ARRAYS if schedule.in_halves(array)):
            try:
                placed = place(schedule)[array]
            except InputError:  # rings of others that cannot be placed
                continue
            half = placed.size // 2
            assert half == max(LEAST_HALF, *(stay.high - stay.low for stay in placed.stays))
            for number, stay in enumerate(placed.stays):
                assert stay.low == number * half
                assert stay.new in ((), stay.touch)
                assert placed.physical(stay.low) - placed.start == number % 2 * half
                assert array == "O" or stay.new or not all(stay.touch)
                checked += number > 0
    assert checked > 100


def test_outputs_overwrite_no_partial_sum_that_is_still_to_be_read() -> None:
    moved = 0
    for word, size, first, columns in product((4, 8, 16, 32, 64), (1, 2), range(70), (1, 2, 7, 40)):
        row = OutputRow.of((first, first + columns), True, word, size)
        assert row.output % word == size * first % word
        assert row.partial % word == 4 * first % word
        assert all(row.output + size * done <= row.partial + 4 * done for done in range(1, columns + 1))
        assert row.partial + 4 * columns <= row.size
        assert row.size % word == 0
        moved += row.partial >= word
    assert moved > 100


def test_partial_sums_of_consecutive_channels_are_in_different_banks() -> None:
    """Planes are odd numbers of words: 2^n channels begin in 2^n banks. Others are dense in the smallest rings."""
    spilled = 0
    for case, _ in cluster_cases(7, 60):
        try:
            output = place(case).O
        except InputError:
            continue
        word = case.ports.map_bytes
        spills = spills_from_local(case)
        stays = [stay for stay in output.stays if stay.touch[1]]
        rows = max(stay.touch[1][0][1] - stay.touch[1][0][0] for stay in stays)
        assert 0 <= output.plane - rows * output.pitch <= (word if spills else 0)
        assert not spills or output.plane // word % 2 == 1
        spilled += spills
    assert spilled >= 10


def test_consecutive_channels_of_maps_that_stay_are_in_different_banks() -> None:
    whole = 0
    for case, _ in cluster_cases(7, 60):
        resident = held_whole(case, ("I", "O"))
        word, layer = case.ports.map_bytes, case.layer
        try:
            placed = place(resident, Residence(1 << 20, 1 << 21, stored=False))
            require_whole(resident, placed)
        except InputError:
            continue
        for ring, rows, columns in (
            (placed.I, layer.input_height, layer.input_width),
            (placed.O, layer.output_height, layer.output_width),
        ):
            assert ring.plane == resident_plane(word, rows, columns)
            assert ring.plane // word % 2 == 1
            assert 0 <= ring.plane - rows * ring.pitch <= word
        whole += 1
    assert whole >= 5


def rings(placement: TcdmPlacement) -> list[Placed]:
    return [placement[array] for array in ARRAYS]


def test_channels_are_spread_where_there_is_room() -> None:
    """All maps of several channels in a large TCDM, none more in one that the smallest rings just fit."""
    spread = larger = 0
    for case, _ in cluster_cases(11, 150, most_macs=20_000):
        try:
            dense = place(case)
        except InputError:
            continue
        word = case.ports.map_bytes
        wide = place_in(case, 1 << 20)
        assert wide.O.plane // word % 2 == 1
        assert wide.I.plane // word % 2 == 1 or case.layer.input_channels < case.lanes.along("c")
        for ring, before in ((wide.I, dense.I), (wide.O, dense.O)):
            assert ring.plane - before.plane in (0, word)
            spread += ring.plane > before.plane
        less = wide.size - 1
        assert rings(place_in(case, wide.size)) == rings(wide)
        assert rings(place_in(case, less)) == rings(dense)
        assert rings(place_in(case, 1 << 20, Residence(room=less))) == rings(dense)
        below = aligned(dense.size)
        assert place_in(case, 1 << 20, Residence(weights=below)).size <= below
        larger += wide.size > dense.size
    assert spread >= 60
    assert larger >= 15


@pytest.mark.parametrize("form", [AS_IT_IS, Form(taps_as_channels="window")])
def test_images_of_fewer_channels_than_lanes_are_dense(form: Form) -> None:
    """Also where they are laid out with a channel for each tap of the kernel."""
    image = Layer(
        name="image", input_channels=3, output_channels=1, input_height=8, input_width=32, kernel=3, padding=1
    ).in_form(form)
    for lanes, plane in ((4, 8 * 32), (2, 8 * 32 + 4)):
        steps = Loop("c", min(lanes, image.input_channels)), Loop("y", 1), Loop("x", 1), Loop("k", 1), Loop("l", 1)
        schedule = Schedule(layer=image, nest=(Marker(ARRAYS, TCDM), *steps), lanes=Lanes(c=lanes))
        assert place_in(schedule, 1 << 20).I.plane == plane
