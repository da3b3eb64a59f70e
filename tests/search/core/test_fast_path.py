"""The fast path of one level: the compiled tables and criteria of a search tell what the closed form counts."""

from random import Random

import numpy as np

from hwgen.ir.lanes import Lanes
from hwgen.ir.schedule import ARRAYS, Bits
from hwgen.model.nest.one_level import predict
from hwgen.search.core.optimal import result_of
from hwgen.search.core.orders import all_orders
from hwgen.search.core.problems import LayerProblems
from hwgen.search.core.space import Target
from hwgen.search.hwc.within_slack import AT, Steps, found_within, searched_nests
from tests.random.nests import random_layer

SHAPES = (Lanes(x=4), Lanes(m=2, x=2), Lanes(m=4, c=2), Lanes(y=2, x=3))
ROWS = 12


def test_compiled_costs_of_random_nests_are_those_of_the_closed_form() -> None:
    """Any order and markers that no others beat, any steps: bytes, cycles of the busiest, memories, iterations."""
    rng, compared, orders = Random(29), 0, all_orders()
    while compared < 300:
        layer, target = random_layer(rng, most_macs=2000), Target(rng.choice(SHAPES), hardware=True)
        problems = LayerProblems(layer, Bits(), target)
        triples = problems.triples(orders, words=True)
        for triple in rng.sample(triples.index.tolist(), min(3, len(triples.index))):
            nests = searched_nests(layer, target, orders, triple)
            rows = found_within(nests, Steps.of(nests, problems.tables), 1 << 30, np.inf, None).rows
            for row in rng.sample(rows.tolist(), min(ROWS, len(rows))):
                schedule = nests.schedule(np.array(row))
                found = result_of(schedule, 1 << 30, hardware=True, covered=0, pruned=0)
                memories = [max(found.need[array], least) for array, least in zip(ARRAYS, target.least, strict=True)]
                assert (row[AT.traffic], row[AT.bound]) == (found.total_bytes, found.cycles), schedule.as_data()
                assert row[AT.inputs : AT.outputs + 1] == memories, schedule.as_data()
                assert row[AT.iterations] == predict(schedule).iterations
                compared += 1
