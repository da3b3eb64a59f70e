"""Rectifiers as tables: the rows that they become, and what these make."""

from dataclasses import replace

import numpy as np

from cosim.pipeline.comparison import random_network_data
from hwgen.golden.network import execute
from hwgen.golden.tables import linear_of, with_tables
from hwgen.ir.layer_set import Network
from hwgen.ir.network.kinds import Lookup
from tests.gateware.pipeline.test_stages import network

CONV = {"op": "conv", "output_channels": 4, "kernel": [3, 3], "padding": [1, 1, 1, 1]}


def rectified(name: str) -> Network:
    return network((2, 4, 5), {**CONV, "activation": name}, {**CONV, "activation": "relu"})


def test_a_row_becomes_two() -> None:
    for name, groups in (("leaky_relu", 1), ("selu", 1), ("prelu", 4)):
        made = with_tables(rectified(name))
        assert [row.name for row in made.layers] == [linear_of("row0"), "row0", "row1"]
        linear, lookup, after = made.layers
        assert (linear.op, linear.activation) == ("conv", None)
        assert (lookup.op, lookup.groups, lookup.inputs) == ("lookup", groups, (linear_of("row0"),))
        assert (after.activation, after.inputs) == ("relu", ("row0",))
        assert with_tables(made) == made
    plain = rectified("relu6")
    assert with_tables(plain) is plain


def test_below_zero_is_kept_where_a_rectifier_would_drop_it() -> None:
    made = with_tables(rectified("prelu"))
    data = random_network_data(made, np.random.default_rng(3), draw_shifts=True)
    slopes = np.array([0.5, 0.25, -1.0, 2.0])
    steps = np.arange(-128, 128)
    tables = np.where(steps < 0, np.rint(steps * slopes[:, None]), steps).clip(-128, 127).astype(np.int8)
    lookup = data.rows["row0"].quantised
    assert isinstance(lookup, Lookup)
    rows = {**data.rows, "row0": replace(data.rows["row0"], quantised=replace(lookup, tables=tables))}
    maps = execute(made, data.maps["input"], rows)
    given, found = maps[linear_of("row0")], maps["row0"]
    assert (given < 0).any()
    for channel, slope in enumerate(slopes):
        wanted = np.where(given[channel] < 0, np.rint(given[channel] * slope), given[channel]).clip(-128, 127)
        assert np.array_equal(found[channel], wanted)
