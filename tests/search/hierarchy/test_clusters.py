"""Clusters of least energy: the space, and what is estimated before there is a schedule."""

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.energy import datapath_counts, device_energy, prices_of_memories
from hwgen.search.hierarchy.clusters import ClusterSpace, _datapath_bytes, best_clusters
from tests.model.cluster.nests import conv

LANES = Lanes.parse("m2c2")


def test_all_memories_are_within_the_budget() -> None:
    for sram in (2048, 5000, 262144, 1 << 22):
        for hwcs, tcdm, local in ClusterSpace(sram, (1, 2), LANES).stacks():
            assert tcdm + hwcs * local <= sram
            assert Cluster(hwcs=hwcs, tcdm=tcdm).tcdm == tcdm
    with pytest.raises(InputError, match="a budget of 1000 bytes: expected room for 2 HWCs of 128 bytes"):
        ClusterSpace(1000, (2, 4), LANES).stacks()


def test_what_the_datapath_reads_is_estimated() -> None:
    """Exactly, but for the last sum, where the lanes divide the layer and nothing is padding."""
    layer = conv((4, 4, 3, 3), (2, 1))
    nest = (Marker(ARRAYS), *(Loop(dim, {"m": 2, "c": 2}.get(dim, 1)) for dim in layer.extents))
    counts = datapath_counts(Schedule(layer=layer, nest=nest, lanes=LANES))
    i, w, o = _datapath_bytes(layer, LANES, Schedule(layer=layer, nest=nest, lanes=LANES).bits)
    served = {array: counts.operand_bytes(array, "local") for array in ARRAYS}
    assert (served["I"], served["W"]) == (i, w)
    assert served["O"] == o - layer.output_elements * (4 + 4 - 1)  # the first is not read, the last has one byte


def test_the_cluster_of_least_energy_comes_first() -> None:
    """Its energy is the model's. Two HWCs with half the memory each read together what one would read alone."""
    layers = [conv((8, 4, 4, 4), (3, 3)), conv((4, 8, 4, 4), (1, 1))]
    checked: list[Hardware] = []
    points = best_clusters(layers, ClusterSpace(4096, (1, 2), LANES), lambda _, hardware: checked.append(hardware))
    assert [point.energy for point in points] == sorted(point.energy for point in points)
    assert {point.cluster.hwcs for point in points} == {1, 2}
    for point in points:
        assert point.hardware in checked
        assert point.bytes <= 4096
        for schedule, energy in zip(point.schedules, point.energies, strict=True):
            counts = predict_cluster(schedule, point.cluster.hwcs, multicast=point.cluster.multicast).counts
            prices = prices_of_memories(point.hardware.buffers or {}, point.cluster)
            assert energy == device_energy(schedule, counts, prices).total
            assert bool(any(loop.over for loop in schedule.loops)) == (point.cluster.hwcs == 2)


@pytest.mark.parametrize("hwcs", [1, 2])
def test_batches_take_less_energy_than_images_alone(hwcs: int) -> None:
    """Weights that no memory on chip holds come once for all images; energies are those of the model."""
    one = Layer(name="fc", op="fc", input_channels=72, output_channels=40, input_height=1, input_width=1, kernel=1)
    layers = [one.of_images(4), conv((4, 4, 4, 4), (3, 3)).of_images(3)]
    space = ClusterSpace(2048, (hwcs,), LANES)
    (point,), (alone,) = (best_clusters(given, space, lambda *_: None) for given in (layers, [one]))
    fc, square = point.schedules
    assert (fc.layer, square.layer.batch) == (layers[0], 3)
    assert point.energies[0] < 3 * alone.energies[0]
    for schedule, energy in zip(point.schedules, point.energies, strict=True):
        counts = predict_cluster(schedule, hwcs, multicast=point.cluster.multicast).counts
        prices = prices_of_memories(point.hardware.buffers or {}, point.cluster)
        assert energy == device_energy(schedule, counts, prices).total
        layer = schedule.layer
        moved = {array: counts.operand_bytes(array, "dram") for array in ARRAYS}
        assert moved == {"I": layer.input_elements, "W": layer.weight_elements, "O": layer.output_elements}
