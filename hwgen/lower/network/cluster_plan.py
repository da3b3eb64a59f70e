"""A quantised network for one cluster: schedules, places in the DRAM, programs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import PAGE_BYTES, SUM_BYTES, WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dma import CHUNK_BYTES
from hwgen.arch.dram import BLOCK_BYTES, Dram
from hwgen.arch.layer_forms import run_weights
from hwgen.arch.layout import aligned
from hwgen.arch.requantisation import bias_records, record_bytes
from hwgen.arch.weights import pack_weights
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, Lookup, Node, Product, dense_weights, zero_share
from hwgen.ir.network.tensors import Int8
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.network.beside import beside
from hwgen.lower.network.cluster_schedules import cluster_schedules
from hwgen.lower.network.kept_schedules import KeptSchedules
from hwgen.lower.network.order import NodeOrder, ordered, turns
from hwgen.lower.network.parts import LayerPart, VectorPart
from hwgen.lower.network.program import NetworkProgram
from hwgen.lower.network.resident import Kept, KeptMaps, choose_kept, feature_map
from hwgen.lower.network.rooms import Lifetime, Rooms, plan_rooms
from hwgen.lower.network.tables import with_tables
from hwgen.lower.vector.maps import FeatureMap
from hwgen.lower.vector.program import compile_vector
from hwgen.lower.vector.tasks import is_for_vector, tasks_of
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.placement import place
from hwgen.model.cluster.residence import Residence
from hwgen.model.cluster.whole_maps import held_whole
from hwgen.model.dram.counts import DramLayout, DramRegion, dram_layout, returns_sums

__all__ = ["ClusterLayer", "ClusterPlan", "Scheduled", "Stretch", "plan_cluster", "require_vector_node", "scheduled"]

MOST_INPUTS = 5
"""Maps of one node that the harness counts by their places."""


@dataclass(frozen=True, eq=False)
class ClusterLayer:
    """A node as a part of a program.

    Members
    -------
    sources : the tensors that are its inputs, by the names of their rooms.
    """

    node: Node
    part: LayerPart | VectorPart
    sources: tuple[str, ...]

    @property
    def weights(self) -> Int8:
        """The weights as its layer has them: a dilated kernel with zeros between its taps."""
        assert isinstance(self.part, LayerPart)
        assert isinstance(self.node, Convolution | Product)
        weights = dense_weights(self.node)
        return weights.reshape(*weights.shape[:2], *self.part.program.schedule.layer.of_network.kernel)

    @property
    def zero_share(self) -> float:
        """The part of its multiplications that the model's operator does not have, as `zero_share` has it."""
        return zero_share(self.node) if isinstance(self.node, Convolution | Product) else 0.0


@dataclass(frozen=True, eq=False)
class Stretch:
    """Layers that run as one program.

    Members
    -------
    given : tensors that the host writes before, by the name of their rooms; not what it wrote before an earlier one.
    kept : maps that stay in the TCDM.
    """

    layers: tuple[ClusterLayer, ...]
    program: NetworkProgram
    given: tuple[str, ...]
    kept: KeptMaps


@dataclass(frozen=True, eq=False)
class ClusterPlan:
    """A network on a cluster.

    Members
    -------
    hardware : the cluster's file.
    order : what runs when.
    stretches : the programs, in the order of ``order.stretches``.
    refused : nodes that the cluster does not run, by name, and why: those with weights, and those that a vector unit
        could have run.
    rooms : of feature maps and partial sums in the DRAM.
    parameters : bytes of weights, biases, tables and constant maps, from address 0 on.
    first_room : DRAM byte address from which on all else is.
    size : bytes of the DRAM that are used.
    stands_for : nodes of the network that run as one table, by its name; see `hwgen.lower.network.tables`.
    """

    hardware: Hardware
    order: NodeOrder
    stretches: tuple[Stretch, ...]
    refused: Mapping[str, str]
    rooms: Rooms
    parameters: NDArray[np.uint8]
    first_room: int
    size: int
    stands_for: Mapping[str, tuple[str, ...]]

    @property
    def here(self) -> frozenset[str]:
        """The names of the network's nodes that the cluster runs."""
        names = (layer.node.name for layer in self.layers)
        return frozenset(one for name in names for one in self.stands_for.get(name, (name,)))

    @property
    def lanes(self) -> int:
        """Multipliers of all HWCs."""
        cluster = self.hardware.cluster
        return self.hardware.shape.product * (cluster.hwcs if cluster else 1)

    @property
    def layers(self) -> list[ClusterLayer]:
        """The layers of all stretches."""
        return [layer for stretch in self.stretches for layer in stretch.layers]

    @property
    def kept(self) -> dict[str, Kept]:
        """The maps that stay in the TCDM, by name."""
        return {name: one for stretch in self.stretches for name, one in stretch.kept.maps.items()}

    def resident_data(self) -> dict[str, dict[str, int | bool]]:
        """These maps as plain data."""
        return {name: {"bytes": one.size, "stored": one.stored} for name, one in self.kept.items()}


def plan_cluster(
    graph: Graph,
    hardware: Hardware,
    progress: Callable[[], None] = lambda: None,
    *,
    resident: bool = False,
    clusters: int = 1,
) -> ClusterPlan:
    """Schedule and compile every node with weights; ``progress`` is called after each.

    ``resident`` : feature maps stay in the TCDM from node to node, where they fit. ``clusters`` : of several, on one
    DRAM, weights share no row with what each has for itself.
    Raises `InputError` for hardware that is not a cluster with scaled sums and given lanes, order and memories.
    """
    found = scheduled(graph, hardware, progress, resident=resident)
    graph, order, kept = found.graph, found.order, found.kept
    schedules, tables = dict(found.schedules), found.tables
    if found.there is not None:
        for nodes, maps in zip(order.stretches, kept, strict=True):
            schedules |= found.there.chosen(order, nodes, maps)
    parameters, placed, constants = _parameters(graph, order, schedules, tables, hardware)
    inside = {name for one in kept for name, there in one.maps.items() if not there.stored}
    alive = {name: one for name, one in _lifetimes(graph, order, schedules).items() if name not in inside}
    row = ((hardware.cluster or Cluster()).dram or Dram()).row_bytes
    first_room = parameters.size if clusters == 1 else aligned(parameters.size, row)
    rooms = plan_rooms(alive, BLOCK_BYTES, first_room)
    bases = {**rooms.bases, **constants}
    address = aligned(first_room + rooms.peak, max(CHUNK_BYTES, BLOCK_BYTES))
    stretches: list[Stretch] = []
    made = set(constants)
    for nodes, maps in zip(order.stretches, kept, strict=True):
        layers: list[ClusterLayer] = []
        in_room: Callable[[int], ClusterLayer] | None = None
        for at, node in enumerate(nodes):
            if node.name in schedules:
                compiled = _Compiled(node, schedules[node.name], hardware, order, bases, placed[node.name])
                layers[-1:] = compiled.after(layers[-1] if layers else None, maps, at, in_room)
            else:
                assert found.machine is not None
                in_room = partial(
                    _vector_part, graph, node, found.machine, order, bases, placed[node.name], (maps, at)
                )
                layers[-1:] = _with_vector(layers[-1:], in_room(maps.room(at)), hardware, _room(maps, at))
        made |= {node.output for node in nodes if not turns(node)}
        sources = dict.fromkeys(name for layer in layers for name in layer.sources)
        given = tuple(name for name in sources if name not in made)
        made |= set(given)
        program = NetworkProgram(tuple(layer.part for layer in layers), address, 0)
        stretches.append(Stretch(tuple(layers), program, given, maps))
        address = aligned(address + WORD_BYTES * len(program.words), max(CHUNK_BYTES, BLOCK_BYTES))
    whole = tuple(replace(one, program=replace(one.program, dram_end=address)) for one in stretches)
    return ClusterPlan(
        hardware, order, whole, found.refused, rooms, parameters, first_room, address, found.stands_for
    )


@dataclass(frozen=True, eq=False)
class Scheduled:
    """The nodes of a network that a cluster runs, in their order, before programs are made of them.

    Members
    -------
    graph : with tables in place of the nodes that they stand for.
    machine : the cluster; None: it runs no node with weights.
    schedules : of nodes with weights, their maps in the DRAM, by name.
    tables : of nodes that the vector unit runs, by name.
    refused, stands_for : as `ClusterPlan` has them.
    kept : the maps that stay in the TCDM, for each stretch.
    there : the schedules with these; None: none may stay.
    """

    graph: Graph
    machine: ClusterParameters | None
    order: NodeOrder
    schedules: Mapping[str, Schedule]
    tables: Mapping[str, bytes]
    refused: Mapping[str, str]
    stands_for: Mapping[str, tuple[str, ...]]
    kept: Sequence[KeptMaps]
    there: KeptSchedules | None


def scheduled(
    graph: Graph,
    hardware: Hardware,
    progress: Callable[[], None] = lambda: None,
    *,
    resident: bool,
    few: bool = False,
) -> Scheduled:
    """The first part of `plan_cluster`; ``few`` : of a few schedules that of the least estimate, in far less time."""
    _require_one_cluster(hardware)
    graph, stands_for = _tabulated(graph, hardware)
    schedules, refused = cluster_schedules(graph, hardware, progress, few=few)
    if not schedules:
        return Scheduled(graph, None, ordered(graph, ()), {}, {}, refused, stands_for, (), None)
    one = next(iter(schedules.values()))
    layout = dram_layout(one, (hardware.cluster or Cluster()).hwcs, ordered=True)
    machine = compile_cluster(one, hardware, layout=layout).hardware
    tables, others = _vector_nodes(graph, machine)
    order = ordered(graph, {*schedules, *tables})
    kept, there = [KeptMaps({}, machine.tcdm_bytes) for _ in order.stretches], None
    if resident:
        there = KeptSchedules(graph, schedules, hardware, few=few)
        kept = [choose_kept(graph, order, nodes, schedules, hardware, machine, there.of) for nodes in order.stretches]
    return Scheduled(graph, machine, order, schedules, tables, refused | others, stands_for, kept, there)


def _tabulated(graph: Graph, hardware: Hardware) -> tuple[Graph, Mapping[str, tuple[str, ...]]]:
    """`with_tables`, where the cluster has a vector unit."""
    has_one = hardware.cluster is not None and hardware.cluster.vector
    return with_tables(graph) if has_one else (graph, {})


def _require_one_cluster(hardware: Hardware) -> None:
    where = hardware.titled
    if hardware.requantisation != "scaled":
        raise InputError(f"{where}: requantisation: expected scaled, as quantised networks need, got shift")
    for key in ("lanes", "order", "buffers"):
        if getattr(hardware, key) is None:
            raise InputError(f"{where}: {key}: missing key: all layers of a network run on one cluster")


# --- what the vector unit runs ---


def _vector_nodes(graph: Graph, machine: ClusterParameters) -> tuple[dict[str, bytes], dict[str, str]]:
    """The nodes that a vector unit runs, by name, with their tables; and why it does not run others."""
    found: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    for node in graph.nodes if machine.vector else ():
        if not is_for_vector(node):
            continue
        try:
            maps = require_vector_node(graph, node)
            program = compile_vector(node, maps[:-1], maps[-1], machine, room=(0, machine.tcdm_bytes))
            found[node.name] = program.constants
        except InputError as error:
            refused[node.name] = str(error).removeprefix(f"{node.name}: ")
    return found, refused


def require_vector_node(graph: Graph, node: Node) -> list[FeatureMap]:
    """The maps that a node reads and the one that it writes; raises `InputError` if no vector unit computes it."""
    if len(set(node.inputs)) > MOST_INPUTS:
        raise InputError(f"inputs: expected at most {MOST_INPUTS}, got {len(set(node.inputs))}")
    if isinstance(node, Lookup) and len(node.tables) > 1 and node.shape[0] != 1:
        raise InputError(f"tables: expected one image with a table for each channel, got {node.shape[0]}")
    maps = [feature_map(graph, name, 0) for name in (*node.inputs, node.output)]
    tasks_of(node, maps[:-1], maps[-1])
    return maps


# --- places in the DRAM ---


def _parameters(
    graph: Graph, order: NodeOrder, schedules: Mapping[str, Schedule], tables: Mapping[str, bytes], hardware: Hardware
) -> tuple[NDArray[np.uint8], dict[str, tuple[int, ...]], dict[str, int]]:
    """Weights, biases, tables, constant maps in the order of the nodes; where those of each begin, and the maps."""
    parts: list[tuple[int, NDArray[np.uint8]]] = []
    places: dict[str, tuple[int, ...]] = {}
    maps: dict[str, int] = {}
    at = 0

    def placed(array: NDArray[np.generic], unit: int = BLOCK_BYTES) -> int:
        nonlocal at
        content = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        begin = aligned(at, unit)
        at = aligned(begin + content.size, BLOCK_BYTES)
        parts.append((begin, content))
        return begin

    for node in (node for nodes in order.stretches for node in nodes):
        for source in _sources(node, order, schedules):
            if source in graph.constants and source not in maps:
                maps[source] = placed(graph.constants[source])
        contents: list[NDArray[np.generic]] = []
        if node.name in tables:
            contents = [np.frombuffer(tables[node.name], np.uint8)]
        if isinstance(node, Convolution | Product):
            form = schedules[node.name].requantisation
            weights = _weights(node, schedules[node.name], hardware)
            contents = [weights, bias_records(node.bias, node.requantisation.scales, form)]
        # Dense weights begin where those of a program of their own do: how a tile lies in bursts depends on it.
        dense = isinstance(node, Convolution | Product) and not _ordered(schedules[node.name], hardware)
        places[node.name] = tuple(
            placed(one, PAGE_BYTES if dense and not number else BLOCK_BYTES) for number, one in enumerate(contents)
        )
    whole = np.zeros(at, np.uint8)
    for begin, content in parts:
        whole[begin : begin + content.size] = content
    return whole, places, maps


def _weights(node: Convolution | Product, schedule: Schedule, hardware: Hardware) -> NDArray[np.signedinteger]:
    """Its weights as they are in the DRAM: in the order in which its tiles fetch them, where that pays."""
    layer, hwcs = schedule.layer, (hardware.cluster or Cluster()).hwcs
    dense = dense_weights(node)
    weights = run_weights(layer, dense.reshape(*dense.shape[:2], *layer.of_network.kernel))
    if not _ordered(schedule, hardware):
        return weights
    return pack_weights(normalised(schedule, hwcs), weights)


def _ordered(schedule: Schedule, hardware: Hardware) -> bool:
    return dram_layout(schedule, (hardware.cluster or Cluster()).hwcs, ordered=True).ordered


def _lifetimes(graph: Graph, order: NodeOrder, schedules: Mapping[str, Schedule]) -> dict[str, Lifetime]:
    """The rooms that feature maps and partial sums need, by step: layers are numbered through all stretches."""
    found: dict[str, Lifetime] = {}
    at = 0
    for nodes in order.stretches:
        begin, end = at, at + len(nodes) - 1
        for node in nodes:
            for source, name in zip(_sources(node, order, schedules), node.inputs, strict=True):
                if source in graph.constants:
                    continue
                own = source.endswith(f" laid out for {node.name}")
                size = schedules[node.name].layer.input_elements if own else graph.tensors[name].elements
                given = found.get(source, Lifetime(size, begin, at))
                found[source] = replace(given, last=max(given.last, at))
            made = node.output in order.asked or turns(node)
            # What the vector unit makes may be there while the layer before still runs.
            first = at - (at > begin and node.name not in schedules and nodes[at - begin - 1].name in schedules)
            found[node.output] = Lifetime(graph.tensors[node.output].elements, first, end if made else at)
            if node.name in schedules and returns_sums(schedules[node.name]):
                found[f"{node.output} sums"] = Lifetime(SUM_BYTES * found[node.output].size, at, at)
            at += 1
    return found


def _sources(node: Node, order: NodeOrder, schedules: Mapping[str, Schedule]) -> tuple[str, ...]:
    """The names of the rooms of its inputs."""
    roots = tuple(order.roots[name] for name in node.inputs)
    if turns(node):
        return tuple(f"{root} turned for {node.name}" for root in roots)
    if node.name in schedules and schedules[node.name].layer.form.taps_as_channels:
        return tuple(f"{root} laid out for {node.name}" for root in roots)
    return roots


def _room(maps: KeptMaps, at: int) -> int:
    """Bytes from address 0 on that a part and the one before may use of the TCDM."""
    return min(maps.room(one) for one in (at - 1, at))


def _with_vector(
    before: list[ClusterLayer], vector: ClusterLayer, hardware: Hardware, room: int
) -> list[ClusterLayer]:
    """The part before, if there is one, and one of the vector unit, beside it as far as that is faster."""
    for layer in before:
        if isinstance(layer.part, LayerPart) and isinstance(vector.part, VectorPart):
            first, second = beside(layer.part, vector.part, vector.node, hardware, room)
            return [replace(layer, part=first), replace(vector, part=second)]
    return [*before, vector]


def _faster(in_room: Callable[[int], ClusterLayer], size: int, whole: ClusterLayer) -> ClusterLayer | None:
    """A part of the vector unit in less room; None where that is too little, or the part takes longer."""
    assert isinstance(whole.part, VectorPart)
    if whole.part.program.early:
        return whole if sum(whole.part.room) <= size else None
    try:
        shorter = in_room(size)
    except InputError:
        return None
    assert isinstance(shorter.part, VectorPart)
    longer = shorter.part.program.times().total > whole.part.program.times().total
    return None if longer else shorter


@dataclass(frozen=True, eq=False)
class _Compiled:
    """A node with weights, its schedule, and where its operands are in the DRAM."""

    node: Node
    schedule: Schedule
    hardware: Hardware
    order: NodeOrder
    bases: Mapping[str, int]
    places: tuple[int, ...]

    def after(
        self, before: ClusterLayer | None, maps: KeptMaps, at: int, in_room: Callable[[int], ClusterLayer] | None
    ) -> list[ClusterLayer]:
        """The part before in its program, if there is one, and its own, which is number ``at`` of its stretch.

        Its first weights are loaded by the part before, where the TCDM has a place for them that this one leaves
        alone. ``in_room`` : the part before with less of the TCDM, if the vector unit runs it.
        """
        residence = maps.residence(at, self._source, self.node.output)
        if before is None:
            return [self._part(residence)]
        if not _ordered(self.schedule, self.hardware):
            return [before, self._part(residence)]
        hwcs = (self.hardware.cluster or Cluster()).hwcs
        schedule = normalised(held_whole(self.schedule, residence.arrays), hwcs)
        size = place(schedule, residence).W.size
        top = min(maps.room(at - 1), maps.room(at))
        bare = replace(residence, weights=0)
        least, spread = (aligned(place(schedule, bare, spread=one).size) for one in (False, True))
        if isinstance(before.part, VectorPart):
            assert in_room is not None
            begin = aligned(top - size - PAGE_BYTES + 1, PAGE_BYTES)
            shorter = (
                None if begin < least or len(before.part.inputs) == MOST_INPUTS else _faster(in_room, begin, before)
            )
            if shorter is None:
                return [before, self._part(residence)]
            before = shorter
        else:
            used = before.part.places
            free = (
                one
                for lowest in (spread, least)
                for one in sorted({lowest, *(aligned(end) for _, end in used if end > lowest)})
                if one + size <= top and all(end <= one or first >= one + size for first, end in used)
            )
            found = next(free, None)
            if found is None:
                return [before, self._part(residence)]
            begin = found
        return [before, self._part(replace(residence, weights=begin, ahead=True))]

    @property
    def _source(self) -> str:
        (source,) = _sources(self.node, self.order, {self.node.name: self.schedule})
        return source

    def _part(self, residence: Residence) -> ClusterLayer:
        assert isinstance(self.node, Convolution | Product)
        schedule, bases, output = self.schedule, self.bases, self.node.output
        layer, bits, source = schedule.layer, schedule.bits, self._source
        record = record_bytes(schedule.requantisation)
        sums = bases.get(f"{output} sums")
        alone = dram_layout(schedule, (self.hardware.cluster or Cluster()).hwcs, ordered=True)
        layout = DramLayout(
            inputs=DramRegion(bases.get(source, 0), layer.input_elements, bits.I // 8),
            weights=replace(alone.weights, base=self.places[0]),
            bias=DramRegion(self.places[1], record * layer.output_channels, record),
            output=DramRegion(bases.get(output, 0), layer.output_elements, bits.O // 8),
            partial=DramRegion(sums or 0, 0 if sums is None else SUM_BYTES * layer.output_elements, SUM_BYTES),
            program=0,
            input_rows=layer.input_height,
            output_rows=layer.output_height,
            ordered=alone.ordered,
        )
        program = compile_cluster(
            schedule, self.hardware, layout=layout, requantisation=self.node.requantisation, residence=residence
        )
        return ClusterLayer(self.node, LayerPart(program), (source,))


def _vector_part(
    graph: Graph,
    node: Node,
    machine: ClusterParameters,
    order: NodeOrder,
    bases: Mapping[str, int],
    places: tuple[int, ...],
    kept: tuple[KeptMaps, int],
    size: int,
) -> ClusterLayer:
    """``size`` : bytes of the TCDM that it may use, from address 0 on."""
    sources, (maps, at) = _sources(node, order, {}), kept

    def where(name: str, source: str) -> FeatureMap:
        there = maps.there(source, at)
        return feature_map(graph, name, bases[source]) if there is None else there.map

    inputs = tuple(where(name, source) for name, source in zip(node.inputs, sources, strict=True))
    target, room = where(node.output, node.output), (0, size)
    program = compile_vector(node, inputs, target, machine, room=room, constants=places[0])
    return ClusterLayer(node, VectorPart(program, inputs, target, places[0], room), sources)
