"""Which feature maps of a program stay in the TCDM from the node that makes them to nodes that read them.

Maps that stay are at the end of the TCDM, each at one place as long as it is needed; what else a node needs is below.
The map that saves the most is placed first, for as many of its readers as have room beside it. If some reader takes
it from the DRAM all the same, it is stored, too; what the vector unit makes either stays or is stored.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dram import BLOCK_BYTES
from hwgen.arch.layout import aligned
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.network.order import NodeOrder, turns
from hwgen.lower.network.rooms import Lifetime, plan_rooms
from hwgen.lower.vector.maps import FeatureMap
from hwgen.lower.vector.program import compile_vector
from hwgen.model.cluster.placement import place
from hwgen.model.cluster.residence import Residence
from hwgen.model.cluster.whole_maps import resident_pitch, resident_plane
from hwgen.model.dram.counts import dram_layout

__all__ = ["Kept", "KeptMaps", "choose_kept", "feature_map"]

MATRIX, AXES = 2, 4
"""Axes of a tensor that may stay: image and channels, or also rows and columns."""


@dataclass(frozen=True)
class Kept:
    """A map that stays in the TCDM.

    Members
    -------
    first, last : the node of the stretch that makes it, and the last one that reads it there.
    stored : whether it goes to the DRAM, too.
    size : bytes.
    shape : channels, rows, columns.
    pitch, plane : bytes from row to row and from channel to channel.
    address : its first byte in the TCDM.
    """

    first: int
    last: int
    stored: bool
    size: int
    shape: tuple[int, int, int]
    pitch: int
    plane: int
    address: int = 0

    def at(self, node: int) -> bool:
        """Whether this node makes it, reads it there, or leaves it alone there."""
        return self.first <= node <= self.last

    @property
    def map(self) -> FeatureMap:
        """The map as the vector unit takes it."""
        channels, rows, columns = self.shape
        return FeatureMap(self.address, channels, rows, columns, self.pitch, self.plane, resident=True)


@dataclass(frozen=True)
class KeptMaps:
    """The maps of a stretch that stay, by name; ``size`` : bytes of the TCDM."""

    maps: Mapping[str, Kept]
    size: int

    def room(self, node: int) -> int:
        """Bytes from address 0 on that a node has for all else."""
        return min((kept.address for kept in self.maps.values() if kept.at(node)), default=self.size)

    def there(self, name: str, node: int) -> Kept | None:
        """The map, where this node makes it or reads it there."""
        kept = self.maps.get(name)
        return kept if kept is not None and kept.at(node) else None

    def residence(self, node: int, source: str, target: str) -> Residence:
        """The residence of a layer from one map to another."""
        given, made = self.there(source, node), self.there(target, node)
        return Residence(
            None if given is None else given.address,
            None if made is None else made.address,
            made is None or made.stored,
            self.room(node),
        )


def choose_kept(
    graph: Graph,
    order: NodeOrder,
    nodes: Sequence[Node],
    schedules: Mapping[str, Schedule],
    hardware: Hardware,
    machine: ClusterParameters,
    other: Callable[[Node, Residence], Schedule | None],
) -> KeptMaps:
    """Choose for one stretch; ``other`` : a schedule of a node with maps that stay, where its own has no room."""
    chooser = _Chooser(graph, order, nodes, schedules, hardware, machine, other)
    found = KeptMaps({}, machine.tcdm_bytes)
    for _, name, options in sorted(chooser.candidates(), key=lambda one: (-one[0], one[1])):
        for kept in options:
            trial = chooser.placed({**found.maps, name: kept})
            if chooser.fits(trial):
                found = trial
                break
    return found


class _Chooser:
    def __init__(
        self,
        graph: Graph,
        order: NodeOrder,
        nodes: Sequence[Node],
        schedules: Mapping[str, Schedule],
        hardware: Hardware,
        machine: ClusterParameters,
        other: Callable[[Node, Residence], Schedule | None],
    ) -> None:
        self._graph, self._order, self._nodes = graph, order, nodes
        self._schedules, self._hardware, self._machine, self._other = schedules, hardware, machine, other
        self._word = next(iter(schedules.values())).ports.map_bytes
        self._needs: dict[tuple[str, bool, bool, bool], int | None] = {}
        self._runs_in: dict[tuple[str, tuple[bool, ...], int], bool] = {}

    def candidates(self) -> list[tuple[int, str, list[Kept]]]:
        """Bytes that it saves at most, name, and how long it may stay, the longest time first."""
        found = []
        for first, node in enumerate(self._nodes):
            name, shape = node.output, self._graph.tensors[node.output].shape
            if len(shape) not in (MATRIX, AXES) or shape[0] != 1 or turns(node):
                continue
            readers = [at for at, one in enumerate(self._nodes) if name in one.inputs and at > first]
            all_readers = [
                one for one in self._graph.nodes if any(self._order.roots[other] == name for other in one.inputs)
            ]
            channels, rows, columns = shape[1:] if len(shape) == AXES else (shape[1], 1, 1)
            pitch, plane = resident_pitch(self._word, columns), resident_plane(self._word, rows, columns)
            size = aligned(channels * plane, BLOCK_BYTES)
            options = []
            for last in reversed(readers):
                there = {id(self._nodes[at]) for at in readers if at <= last}
                stored = name in self._order.asked or any(id(one) not in there for one in all_readers)
                if not stored or node.name in self._schedules:
                    options.append(Kept(first, last, stored, size, (channels, rows, columns), pitch, plane))
            if options:
                found.append((size * len(readers), name, options))
        return found

    def placed(self, maps: Mapping[str, Kept]) -> KeptMaps:
        """The maps with addresses, from the end of the TCDM downwards."""
        rooms = plan_rooms({name: Lifetime(one.size, one.first, one.last) for name, one in maps.items()}, BLOCK_BYTES)
        size = self._machine.tcdm_bytes
        return KeptMaps(
            {name: replace(one, address=size - rooms.bases[name] - one.size) for name, one in maps.items()}, size
        )

    def fits(self, trial: KeptMaps) -> bool:
        """Whether every node has room enough, and can hold its maps whole."""
        if any(one.address < 0 for one in trial.maps.values()):
            return False
        concerned = {at for one in trial.maps.values() for at in range(one.first, one.last + 1)}
        return all(self._runs(trial, at) for at in sorted(concerned))

    def _runs(self, trial: KeptMaps, at: int) -> bool:
        node = self._nodes[at]
        if node.name in self._schedules:
            residence = trial.residence(at, self._order.roots[node.inputs[0]], node.output)
            need = self._need(node, residence)
            return need is not None and need <= trial.room(at)
        return self._vector_runs(trial, at)

    def _need(self, node: Node, residence: Residence) -> int | None:
        """Bytes of the TCDM for all that does not stay; None: the layer cannot hold these maps whole."""
        given, made = residence.inputs is not None, residence.output is not None
        key = (node.name, given, made, residence.stored)
        if key not in self._needs:
            middle = self._machine.tcdm_bytes // 2
            somewhere = Residence(middle if given else None, middle if made else None, residence.stored)
            need = self._size(self._schedules[node.name], somewhere)
            if need is None:
                another = self._other(node, somewhere)
                need = None if another is None else self._size(another, somewhere)
            self._needs[key] = need
        return self._needs[key]

    def _size(self, schedule: Schedule, residence: Residence) -> int | None:
        """Bytes of the TCDM that a schedule needs at least; None: it cannot hold these maps whole."""
        cluster = self._hardware.cluster or Cluster()
        layout = dram_layout(schedule, cluster.hwcs, ordered=True)

        def size() -> int:
            program = compile_cluster(schedule, self._hardware, layout=layout, residence=residence)
            return place(program.schedule, residence).size

        return _or_none(size)

    def _vector_runs(self, trial: KeptMaps, at: int) -> bool:
        node, room = self._nodes[at], trial.room(at)
        kept = [trial.there(self._order.roots[name], at) for name in (*node.inputs, node.output)]
        key = node.name, tuple(one is not None for one in kept), room
        if key not in self._runs_in:  # wherever its maps are, all of which begin with a block
            *inputs, output = (
                feature_map(self._graph, name, 0) if one is None else one.map
                for name, one in zip((*node.inputs, node.output), kept, strict=True)
            )
            self._runs_in[key] = (
                _or_none(lambda: len(compile_vector(node, inputs, output, self._machine, room=(0, room)).commands))
                is not None
            )
        return self._runs_in[key]


def feature_map(graph: Graph, name: str, base: int) -> FeatureMap:
    """A tensor in the DRAM: channels along its second axis, of several images one after the other."""
    shape = graph.tensors[name].shape
    if len(shape) <= 1:
        return FeatureMap.dense(base, 1, 1, graph.tensors[name].elements)
    images, channels, *rows, columns = shape if len(shape) > MATRIX else (*shape, 1)
    return FeatureMap.dense(base, images * channels, prod(rows), columns)


def _or_none(find: Callable[[], int]) -> int | None:
    try:
        return find()
    except InputError:
        return None
