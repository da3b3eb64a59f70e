"""The work of the HWCs for each tile of a cluster: slices as small layers, and their register values."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import PackedWeights
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import WIDE
from hwgen.ir.layer import WEIGHT_DIMS, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.lower.hwc.parameters import parameters_for
from hwgen.lower.hwc.program import check_format
from hwgen.lower.hwc.registers import Placement, RegisterValues, bias_registers, check_group_distance
from hwgen.model.cluster.levels import run_depth
from hwgen.model.cluster.placement import Placed, Stay, TcdmPlacement
from hwgen.model.cluster.tile_order import TILE_DIMS, Range, Ranges, input_lines
from hwgen.model.hwc.tiles import RowBegins
from hwgen.model.nest.biases import bias_depth
from hwgen.model.nest.lane_accesses import with_output_at_reduction

__all__ = ["Slice", "TileCommands"]

M, C, Y, X, K, L, N = range(len(TILE_DIMS))
WEIGHTS = (M, C, K, L)
NOWHERE = Placement(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a tile that one HWC runs as one layer: its ranges, and the number of the HWC."""

    ranges: Ranges
    hwc: int


@dataclass(frozen=True, slots=True)
class _Corner:
    """The first row and column of a slice's input; ``touches`` is false where all of it is padding."""

    row: int
    column: int
    touches: bool


class TileCommands:
    """The slices of every tile, and their register values.

    Parameters
    ----------
    schedule
        A normalised nest of two levels.
    hardware
        The HWCs; None: the smallest ones.
    hwcs
        Number of HWCs.
    placement
        The operands' places in the TCDM.
    settings
        Values of the requantisation registers by name.

    Members
    -------
    schedule, placement : as they were given.
    slices : the slices of each tile.
    kinds : of each tile the number of its kind. Tiles of a kind have slices of the same shapes, on the same HWCs, of
        which the same go on with sums or leave them to others, and whose rows begin in the same bytes of words; their
        cycles are taken to be those of the first.
    examples : a tile of each kind, the first.
    """

    def __init__(
        self,
        schedule: Schedule,
        hardware: Hardware | None,
        hwcs: int,
        placement: TcdmPlacement,
        settings: dict[str, int],
    ) -> None:
        self.schedule, self.placement, self._settings = schedule, placement, settings
        self._layer, self._hwcs = schedule.layer, hwcs
        self._reduction = [(dim, schedule.layer.extents[TILE_DIMS[dim]]) for dim in (C, K, L)]
        depth = placement.walk.depth
        self._between = schedule.loops[depth : run_depth(schedule)]
        self._local = _below(schedule, depth + len(self._between))
        # All slices keep biases at the same place, small ones too.
        run = depth + len(self._between)
        self._around_biases = bias_depth(schedule, run) - run
        self.slices = [list(self._slices(tile)) for tile in placement.walk.tiles]
        self._stays = {array: _stay_of(placement[array].stays) for array in ARRAYS}
        self._packed = self._packed_weights(depth)
        # One layer object for each shape; what follows from a shape is kept by it.
        self._layers: dict[tuple[int, ...], Layer] = {}
        self._shapes: dict[Ranges, tuple[Layer, _Corner]] = {}
        self._schedules: dict[int, Schedule] = {}
        self._values: dict[int, dict[str, int]] = {}
        first: dict[object, int] = {}
        firsts = [first.setdefault(self._kind(parts), tile) for tile, parts in enumerate(self.slices)]
        self.examples = list(first.values())
        numbers = {tile: number for number, tile in enumerate(self.examples)}
        self.kinds = [numbers[tile] for tile in firsts]
        self._hardware = hardware

    @cached_property
    def parameters(self) -> HwcParameters:
        """The HWC that runs all slices; raises `InputError` where the hardware cannot."""
        return _parameters([self._small(layer) for layer in self._layers.values()], self._hardware)

    def registers(self, tile: int, part: Slice) -> dict[str, int]:
        """The register values of one slice, by name, in register order."""
        shape, corner = self._shape(part.ranges)
        values = dict(self._register_values(shape))
        values |= self._input_base(tile, part.ranges, corner)
        if shape.groups > 1:
            values |= self._group_distance(tile, shape)
        values |= self._weight_base(tile, part.ranges)
        values |= self._output_bases(tile, part.ranges)
        resumes, goes_on = self.sums(part)
        values |= {
            "bias_base": record_bytes(self.schedule.requantisation) * part.ranges[M][0],
            "first_part": int(not resumes),
            "last_part": int(not goes_on),
        }
        return values

    def sums(self, part: Slice) -> tuple[bool, bool]:
        """Whether a slice goes on with sums that others began, and whether it leaves them to others."""
        resumes = goes_on = False
        for dim, extent in self._reduction:
            low, high = part.ranges[dim]
            resumes, goes_on = resumes or low > 0, goes_on or high < extent
        return resumes, goes_on

    def bases(self, tile: int, part: Slice) -> dict[str, int]:
        """The bytes of the shared memory at which a slice's operands begin."""
        _, corner = self._shape(part.ranges)
        return {
            "I": self._input_base(tile, part.ranges, corner)["input_base"],
            "W": self._weight_base(tile, part.ranges)["weight_base"],
            "O": self._output_bases(tile, part.ranges)["output_base"],
            "sums": self._output_bases(tile, part.ranges)["partial_base"],
            "biases": record_bytes(self.schedule.requantisation) * part.ranges[M][0],
        }

    def begins(self, part: Slice) -> RowBegins:
        """The bytes of a word of the port in which the rows of a slice's feature maps begin."""
        _, corner = self._shape(part.ranges)
        ports, bits = self.schedule.ports, self.schedule.bits
        column = bits.I // 8 * corner.column if corner.touches else 0
        word, first = ports.O // 8, part.ranges[X][0]
        return RowBegins(column % ports.input_bytes, bits.O // 8 * first % word, SUM_BYTES * first % word)

    def small(self, part: Slice) -> Schedule:
        """The small layer that an HWC runs for a slice: the same object for slices of one shape."""
        return self._small(self._shape(part.ranges)[0])

    # --- slices ---

    def _slices(self, tile: Ranges) -> Iterator[Slice]:
        """The iterations of the loops between tiles and HWCs, in program order."""

        def inside(ranges: Ranges, loops: tuple[Loop, ...], number: int) -> Iterator[Slice]:
            if not loops:
                yield Slice(ranges, number % self._hwcs)
                return
            loop, dim = loops[0], TILE_DIMS.index(loops[0].dim)
            low, high = ranges[dim]
            iterations = range(low, high, loop.step)
            for i, start in enumerate(iterations):
                part = (*ranges[:dim], (start, min(start + loop.step, high)), *ranges[dim + 1 :])
                yield from inside(part, loops[1:], number * len(iterations) + i if loop.over else number)

        return inside(tile, self._between, 0)

    def _kind(self, parts: list[Slice]) -> object:
        """What tells the kind of a tile of these slices."""
        return tuple(
            (id(self._shape(part.ranges)[0]), part.hwc, *self.sums(part), self.begins(part)) for part in parts
        )

    # --- small layers ---

    def _shape(self, ranges: Ranges) -> tuple[Layer, _Corner]:
        """The small layer of a slice, and the start of its input: those of its image, whichever it is."""
        ranges = (*ranges[:N], (0, 1))
        found = self._shapes.get(ranges)
        if found is None:
            found = self._shapes[ranges] = self._shape_of(ranges)
        return found

    def _shape_of(self, ranges: Ranges) -> tuple[Layer, _Corner]:
        layer = self._layer
        (m, m_end), (c, c_end) = ranges[M], ranges[C]
        size = layer.outputs_per_group
        groups = 1
        if m // size != (m_end - 1) // size:
            if m % size or m_end % size:
                raise InputError(
                    f"{layer.name}: nest: output channels {m} to {m_end - 1} of one HWC's share of a tile begin or "
                    f"end inside a group of {size} and go beyond it"
                )
            groups = (m_end - m) // size
        axes = self._axes(ranges)
        rows, columns = (
            _window(outputs, taps, layer.stride[axis], layer.padding[axis], extent)
            for axis, (outputs, taps, extent) in enumerate(axes)
        )
        touches = all(
            input_lines(outputs, taps, layer.stride[axis], layer.padding[axis], extent)
            for axis, (outputs, taps, extent) in enumerate(axes)
        )
        sizes = [end - begin for begin, end in ranges[:N]]
        key = (groups, *sizes, *rows.shape, *columns.shape)
        small = self._layers.get(key)
        if small is None:
            small = self._layers[key] = Layer.model_construct(
                name=layer.name,
                op="conv",
                input_channels=groups * (c_end - c),
                output_channels=m_end - m,
                input_height=rows.size,
                input_width=columns.size,
                output_height=sizes[Y],
                output_width=sizes[X],
                kernel=(sizes[K], sizes[L] + layer.columns_beside),
                stride=layer.stride,
                padding=(rows.before, columns.before, rows.after, columns.after),
                groups=groups,
            ).run_as(layer)
        return small, _Corner(rows.first, columns.first, touches)

    def _axes(self, ranges: Ranges) -> tuple[tuple[Range, Range, int], ...]:
        """Along rows and along columns: outputs, what they need of the kernel, and the size of the input."""
        layer, (first, end) = self._layer, ranges[L]
        across = (first, end + layer.columns_beside)
        return (ranges[Y], ranges[K], layer.input_height), (ranges[X], across, layer.input_width)

    def _small(self, layer: Layer) -> Schedule:
        """The nest below the slices, its steps limited to a small layer of theirs."""
        found = self._schedules.get(id(layer))
        if found is None:
            found = self._schedules[id(layer)] = self._small_schedule(layer)
        return found

    def _small_schedule(self, layer: Layer) -> Schedule:
        left = dict(layer.extents)
        nest: list[Loop | Marker] = []
        for item in self._local:
            if isinstance(item, Loop):
                left[item.dim] = min(item.step, left[item.dim])
                nest.append(Loop(item.dim, left[item.dim]))
            else:
                nest.append(item)
        return Schedule.model_construct(
            layer=layer,
            bits=self.schedule.bits,
            nest=tuple(nest),
            lanes=self.schedule.lanes,
            bias_words=self.schedule.bias_words,
            ports=self.schedule.ports,
            requantisation=self.schedule.requantisation,
            lane_registers=self.schedule.lane_registers,
        )

    def _register_values(self, layer: Layer) -> dict[str, int]:
        """The register values of a small layer that do not depend on addresses."""
        found = self._values.get(id(layer))
        if found is None:
            found = self._values[id(layer)] = self._values_of(layer)
        return found

    def _values_of(self, layer: Layer) -> dict[str, int]:
        rings = self.placement
        where = replace(
            NOWHERE,
            input_pitch=rings.I.pitch,
            input_plane=rings.I.plane,
            output_pitch=rings.O.pitch,
            output_plane=rings.O.plane,
            partial_pitch=rings.O.pitch,
            partial_plane=rings.O.plane,
        )
        schedule = with_output_at_reduction(self._small(layer))
        values = RegisterValues(schedule, self.parameters, where).registers() | self._settings
        values |= bias_registers(self.parameters, self._around_biases)
        if self.parameters.wide:
            values |= {"wide": int(schedule.bits.I == WIDE)}
        for name, array in (("i", "I"), ("w", "W"), ("o", "O")):
            ring: Placed = getattr(rings, array)
            values |= {f"ring_{name}_end": ring.end, f"ring_{name}_size": ring.size}
        return values

    # --- addresses of a slice's operands ---

    def _stay(self, array: ArrayName, tile: int) -> Stay:
        return self._stays[array][tile]

    def _input_base(self, tile: int, ranges: Ranges, corner: _Corner) -> dict[str, int]:
        ring, layer = self.placement.I, self._layer
        stay = self._stay("I", tile)
        if not corner.touches:
            return {"input_base": ring.start}
        group = ranges[M][0] // layer.outputs_per_group
        channel = ranges[N][0] * layer.input_channels + group * layer.channels_per_group + ranges[C][0]
        plane = stay.origin + stay.channels_before(channel) * ring.plane
        address = plane + corner.row * ring.pitch + ring.element * corner.column
        # The first address that is fetched must be inside the ring, so that addresses wrap at most once.
        rows, columns = (
            input_lines(outputs, taps, layer.stride[axis], layer.padding[axis], extent)
            for axis, (outputs, taps, extent) in enumerate(self._axes(ranges))
        )
        word = self.schedule.ports.map_bytes
        low = plane + rows[0][0] * ring.pitch + ring.element * columns[0][0] // word * word
        base = ring.physical(low) + address - low
        return {"input_base": base}

    def _group_distance(self, tile: int, shape: Layer) -> dict[str, int]:
        """Channels from one group to the next: what the tile holds of each; a slice may take a part of it."""
        low, high = self._stay("I", tile).ranges[C]
        check_group_distance(shape, high - low, self.parameters)
        return {"group_inputs": high - low}

    def _packed_weights(self, depth: int) -> tuple[PackedWeights, int]:
        """The packing of a tile of weights in the TCDM, and how many of its loops cut it into slices."""
        marked = self.schedule.marked_loop("W", TCDM)
        assert marked is not None
        loops = self.schedule.loops[marked + 1 : depth + len(self._between)]
        return PackedWeights(self.schedule, marked + 1), sum(loop.dim in WEIGHT_DIMS for loop in loops)

    def _weight_base(self, tile: int, ranges: Ranges) -> dict[str, int]:
        ring = self.placement.W
        stay = self._stay("W", tile)
        packed, loops = self._packed
        held = [stay.ranges[dim] for dim in WEIGHTS]
        low = tuple(ranges[dim][0] - begin for dim, (begin, _) in zip(WEIGHTS, held, strict=True))
        offset = packed.offset(low, tuple(end - begin for begin, end in held), loops)
        return {"weight_base": ring.physical(stay.low + offset)}

    def _output_bases(self, tile: int, ranges: Ranges) -> dict[str, int]:
        ring = self.placement.O
        stay = self._stay("O", tile)
        column = stay.ranges[X][0]
        channels = stay.channels_before(ranges[N][0] * self._layer.output_channels + ranges[M][0])
        rows = ranges[Y][0] - stay.ranges[Y][0]
        row = stay.low + channels * ring.plane + rows * ring.pitch
        size = self.schedule.bits.O // 8
        first = row + size * column % self.schedule.ports.map_bytes
        sums = stay.origin + channels * ring.plane + ranges[Y][0] * ring.pitch + SUM_BYTES * ranges[X][0]
        return {
            "output_base": ring.physical(first + size * (ranges[X][0] - column)),
            "partial_base": ring.physical(sums) if ring.element == SUM_BYTES else ring.start,
        }


@dataclass(frozen=True, slots=True)
class _Window:
    """Rows or columns of the input of a slice: the first, how many, and the padding before and after them."""

    first: int
    size: int
    before: int
    after: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """What the small layer has of it."""
        return self.size, self.before, self.after


def _window(outputs: tuple[int, int], taps: tuple[int, int], stride: int, pad: int, extent: int) -> _Window:
    first = outputs[0] * stride + taps[0] - pad
    end = (outputs[1] - 1) * stride + taps[1] - pad
    low, high = max(first, 0), min(end, extent)
    if low >= high:  # only padding: all of it before a line that is never reached
        return _Window(0, 1, end - first, 0)
    return _Window(low, high - low, low - first, end - high)


def _stay_of(stays: tuple[Stay, ...]) -> list[Stay]:
    """The resident tile of the operand during every tile of the schedule."""
    return [stay for stay in stays for _ in range(stay.first, stay.last + 1)]


def _below(schedule: Schedule, depth: int) -> tuple[Loop | Marker, ...]:
    """The nest below the first ``depth`` loops, with the markers right above the next loop."""
    loops = 0
    result: list[Loop | Marker] = []
    for item in schedule.nest:
        if isinstance(item, Loop):
            loops += 1
            if loops > depth:
                result.append(item)
        elif loops >= depth and not item.level.shared:
            result.append(item)
    return tuple(result)


def _parameters(schedules: list[Schedule], hardware: Hardware | None) -> HwcParameters:
    """The HWC that runs all of these."""
    found = []
    for schedule in schedules:
        check_format(schedule)
        found.append(parameters_for(schedule, hardware))
    return replace(
        found[0],
        cluster=True,
        **{
            f"{name}_bytes": max(getattr(one, f"{name}_bytes") for one in found)
            for name in ("input", "weight", "output")
        },
        bias_words=max(one.bias_words for one in found),
    )
