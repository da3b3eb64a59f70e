"""Lanes: their product, their shapes, what they are in files, and what is refused."""

import pickle
from dataclasses import fields
from itertools import product
from math import prod

import pytest

from hwgen.ir.lanes import LANE_DIMS, ONE_LANE, OUTPUT_LANE_DIMS, Lanes, OneAlongC
from hwgen.ir.layer import DIMS


def test_there_is_a_number_for_every_loop_dimension() -> None:
    assert tuple(field.name for field in fields(Lanes)) == DIMS
    assert [ONE_LANE.along(dim) for dim in DIMS] == [1] * len(DIMS)


def test_product_and_dimensions() -> None:
    lanes = Lanes(m=4, c=3, x=2)
    assert (lanes.product, lanes.dims, lanes.along("c"), lanes.along("y")) == (24, ("m", "c", "x"), 3, 1)
    assert (ONE_LANE.product, ONE_LANE.dims) == (1, ())
    assert lanes.sums == 8
    assert lanes.outside() == ()
    assert Lanes(m=4, k=2).outside() == ("k",)


@pytest.mark.parametrize(("extent", "vectors"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_an_extent_takes_whole_vectors(extent: int, vectors: int) -> None:
    assert Lanes(m=4).vectors("m", extent) == vectors
    assert Lanes(m=4).vectors("y", extent) == extent


def test_half_as_many_along_c_else_x_else_m_else_y() -> None:
    assert Lanes(m=4, c=4, x=2).halved() == Lanes(m=4, c=2, x=2)
    assert Lanes(m=4, y=2, x=2).halved() == Lanes(m=4, y=2)
    assert Lanes(m=4, y=4).halved() == Lanes(m=2, y=4)
    assert Lanes(y=16).halved() == Lanes(y=8)
    with pytest.raises(ValueError, match="expected more than one lane along x or m or y to halve"):
        Lanes(k=4).halved()


@pytest.mark.parametrize("lanes", [ONE_LANE, *Lanes.shapes(8), Lanes(c=2, x=4), OneAlongC(m=2, x=4)], ids=str)
def test_halving_undoes_doubling(lanes: Lanes) -> None:
    assert lanes.doubled().product == 2 * lanes.product
    assert lanes.doubled().halved() == lanes


def test_the_one_that_is_left_of_two_along_c_is_told() -> None:
    left, plain = Lanes(m=4, c=2).halved(), Lanes(m=4)
    assert left != plain
    assert (left.lie_along_c, plain.lie_along_c) == (True, False)
    assert (left.product, left.dims) == (plain.product, plain.dims)
    assert (str(left), left.as_data()) == ("m4c1", {"m": 4, "c": 1})
    assert pickle.loads(pickle.dumps(left)) == left


@pytest.mark.parametrize("number", [1, 6, 16])
@pytest.mark.parametrize("dims", [LANE_DIMS, OUTPUT_LANE_DIMS, ("y",)])
def test_shapes_are_all_ways_to_make_the_product(number: int, dims: tuple[str, ...]) -> None:
    every = {
        Lanes(**dict(zip(dims, along, strict=True)))
        for along in product(range(1, number + 1), repeat=len(dims))
        if prod(along) == number
    }
    shapes = Lanes.shapes(number, dims)  # type: ignore[arg-type]
    assert set(shapes) == every
    assert len(shapes) == len(every)


def test_shapes_begin_along_the_last_dimension() -> None:
    assert [str(shape) for shape in Lanes.shapes(4)] == ["x4", "y2x2", "m2x2", "y4", "m2y2", "m4"]


@pytest.mark.parametrize("lanes", [ONE_LANE, Lanes(x=16), Lanes(m=8, x=2), Lanes(m=16, c=16)], ids=str)
def test_data_come_back(lanes: Lanes) -> None:
    assert Lanes.from_data(lanes.as_data()) == lanes
    assert Lanes.from_data(lanes) is lanes
    assert 1 not in lanes.as_data().values()


def test_text_comes_back() -> None:
    for lanes in Lanes.shapes(16, ("m", "c", "y", "x")):
        assert Lanes.parse(str(lanes)) == lanes
    assert str(Lanes(m=8, x=2)) == "m8x2"
    assert str(ONE_LANE) == "1"


@pytest.mark.parametrize("text", ["16", "m8x", "m8,x2", "m8m2", "z4", "x0", "x-4"])
def test_refused_texts(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        Lanes.parse(text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"x": 0}, "x: expected at least 1, got 0"),
        ({"x": True}, "x: expected at least 1, got true"),
        ({"y": "four"}, "y: expected at least 1, got 'four'"),
        ({"z": 4}, "z: expected one of m c y x k l"),
        (16, "expected a mapping of dimensions to lanes, got 16"),
    ],
)
def test_refused_data(data: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Lanes.from_data(data)
