"""Executes the program of a cluster on byte arrays, in a random order among those that queues and tokens allow.

There is no timing: the next event is drawn at random from the possible events. A transfer proceeds run by run. An HWC
reads its operands when it starts and again when it ends, and both must be equal; the bytes that it will write are
overwritten with noise when it starts. So a program without a needed token gives wrong outputs, or an error, in some
order.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue, decode
from hwgen.arch.descriptor import Descriptor, Ring, RingSelect
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.layout import element_type
from hwgen.arch.registers.cluster import ring_registers
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.arch.requantisation import records_content, requantisation_of, scaled_requantisation
from hwgen.arch.weights import pack_weights, packed_size
from hwgen.golden.convolution import convolve
from hwgen.golden.requantisation import requantise
from hwgen.ir.layer import DIMS, Layer
from hwgen.ir.requantisation import Requantisation
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule

__all__ = ["QUEUE_WORDS", "Machine", "ProgramError"]


Bytes = NDArray[np.uint8]
Indices = NDArray[np.int64]
QUEUE_WORDS = {
    Queue.LOAD: ClusterParameters.load_words,
    Queue.COMPUTE: ClusterParameters.compute_words,
    Queue.STORE: ClusterParameters.store_words,
}
"""Words that a queue holds; each command takes one more than it has."""


class ProgramError(Exception):
    """The program does something invalid; the text says what."""


@dataclass
class _Hwc:
    """One HWC: its registers by address, and its current layer."""

    registers: dict[int, int]
    run: Iterator[None] | None = None


class Machine:
    """A cluster.

    Parameters
    ----------
    parameters : of each HWC.
    hwcs : number of HWCs.
    dram, tcdm : bytes of the memories, modified in place.
    rings : of I, W and O, until the program sets others.
    rng : selects the next event.
    """

    def __init__(
        self, parameters: HwcParameters, hwcs: int, dram: Bytes, tcdm: Bytes, rings: Mapping[str, Ring], rng: Random
    ) -> None:
        self._parameters, self._dram, self._tcdm, self._rings, self._rng = parameters, dram, tcdm, dict(rings), rng
        self._hwcs = [_Hwc({}) for _ in range(hwcs)]
        self._tokens: Counter[tuple[Queue, Queue]] = Counter()
        self._queues: dict[Queue, list[Command]] = {queue: [] for queue in QUEUE_WORDS}
        self._moves: dict[Queue, Iterator[None] | None] = dict.fromkeys(QUEUE_WORDS)
        self._names = hwc_registers(parameters).addresses
        self._ring_settings = ring_registers(ClusterParameters(parameters, hwcs))

    def run(self, words: list[int]) -> None:
        """Execute a program to its END; raises `ProgramError` if it does something invalid, or deadlocks."""
        commands = [command for _, command in decode(words)][:-1]
        commands.reverse()
        while True:
            choices: list[Queue | _Hwc | Command] = [
                *(queue for queue in self._queues if self._can_step(queue)),
                *(hwc for hwc in self._hwcs if hwc.run is not None),
            ]
            if commands and self._fits(commands[-1]):
                choices.append(commands[-1])
            if not choices:
                break
            choice = self._rng.choice(choices)
            if isinstance(choice, Command) and choice.queue is Queue.PROGRAM:
                self._settle(commands.pop())
            elif isinstance(choice, Command):
                self._queues[choice.queue].append(commands.pop())
            elif isinstance(choice, _Hwc):
                self._step_hwc(choice)
            else:
                self._step(choice)
        stuck = [queue.name.lower() for queue, waiting in self._queues.items() if waiting]
        if stuck or commands:
            raise ProgramError(f"nothing can go on: {', '.join(stuck) or 'the list'} waits")
        if left := [pair for pair, number in self._tokens.items() if number]:
            raise ProgramError(f"tokens are left over: {left}")

    # --- queues ---

    def _settle(self, command: Command) -> None:
        """Set the rings."""
        first, *values = command.payload
        ends = {name: (ring.end, ring.size) for name, ring in self._rings.items()}
        for place, value in enumerate(values):
            address = first + WORD_BYTES * place
            if address not in self._ring_settings:
                raise ProgramError(f"CONFIGURE: no register of a ring: {address:#x}")
            name, is_size = divmod(self._ring_settings.index(address), 2)
            end, size = ends.get("IWO"[name], (0, 0))
            ends["IWO"[name]] = (end, value) if is_size else (value, size)
        self._rings = {name: Ring(end, size) for name, (end, size) in ends.items()}

    def _fits(self, command: Command) -> bool:
        if command.queue is Queue.PROGRAM:
            return not any(self._queues.values()) and all(hwc.run is None for hwc in self._hwcs)
        words = sum(len(other.words) + 1 for other in self._queues[command.queue])
        return words + len(command.words) + 1 <= QUEUE_WORDS[command.queue]

    def _can_step(self, queue: Queue) -> bool:
        if self._moves[queue] is not None:
            return True
        if not self._queues[queue]:
            return False
        command = self._queues[queue][0]
        resting = all(self._hwcs[i].run is None for i in range(len(self._hwcs)) if command.mask >> i & 1)
        return resting and all(self._tokens[other, queue] for other in command.takes)

    def _step(self, queue: Queue) -> None:
        """Start the oldest command, or continue its transfer."""
        command, move = self._queues[queue][0], self._moves[queue]
        if move is None:
            for other in command.takes:
                self._tokens[other, queue] -= 1
            move = self._begin(command)
        self._moves[queue] = move
        if move is not None and next(move, self) is None:
            return
        self._moves[queue] = None
        self._queues[queue].pop(0)
        for other in command.posts:
            self._tokens[queue, other] += 1

    def _begin(self, command: Command) -> Iterator[None] | None:
        if command.mask >> len(self._hwcs):
            raise ProgramError(f"{command.opcode.name}: there are {len(self._hwcs)} HWCs, mask {command.mask:#x}")
        chosen = [hwc for i, hwc in enumerate(self._hwcs) if command.mask >> i & 1]
        match command.opcode:
            case Opcode.MOVE:
                return self._move(Descriptor.decode(command.payload), loads=command.queue is Queue.LOAD)
            case Opcode.CONFIGURE:
                first, *values = command.payload
                for hwc in chosen:
                    hwc.registers |= {first + WORD_BYTES * i: value for i, value in enumerate(values)}
            case Opcode.START:
                for hwc in chosen:
                    hwc.run = self._layer(dict(hwc.registers))
        return None

    def _step_hwc(self, hwc: _Hwc) -> None:
        assert hwc.run is not None
        if next(hwc.run, self) is self:
            hwc.run = None

    # --- the DMA ---

    def _move(self, descriptor: Descriptor, *, loads: bool) -> Iterator[None]:
        ring = None if descriptor.ring is RingSelect.FIXED else self._rings[descriptor.ring.name]
        descriptor.check_ring(ring)
        if not loads and descriptor.scattered and descriptor.fast_stride != 1:
            raise ProgramError("a store whose bytes lie apart")
        offsets = np.array(descriptor.offsets())
        for dram, tcdm in descriptor.runs():
            if dram + descriptor.length > len(self._dram):
                raise ProgramError(f"DRAM address {dram:#x} of a transfer is outside")
            places = tcdm + offsets
            places = places if ring is None else ring.wrap(places)
            part = slice(dram, dram + descriptor.length)
            if loads:
                self._tcdm[places] = self._dram[part]
            else:
                self._dram[part] = self._tcdm[places]
            yield

    # --- an HWC ---

    def _layer(self, registers: dict[int, int]) -> Iterator[None]:
        """The start of a layer, an arbitrary delay, its end."""
        layer = _SmallLayer(self._parameters, {name: registers.get(at, 0) for name, at in self._names.items()})
        sources, target = layer.sources(), layer.target()
        read = [self._tcdm[places] for places in sources]
        self._tcdm[target] = np.frombuffer(self._rng.randbytes(target.size), np.uint8).reshape(target.shape)
        yield
        for places, content in zip(sources, read, strict=True):
            if not np.isin(places, target).any() and not np.array_equal(self._tcdm[places], content):
                raise ProgramError("what an HWC reads changed while it ran")
        self._tcdm[target] = layer.result(read)
        yield


class _SmallLayer:
    """A layer as the registers of an HWC describe it: the bytes that it reads and writes, and its computation."""

    def __init__(self, parameters: HwcParameters, values: dict[str, int]) -> None:
        self._parameters, self._values = parameters, values
        self._extents: dict[str, int] = {dim: values[f"extent_{dim}"] for dim in DIMS}
        self._groups = -(-values["extent_m"] // values["group_outputs"])
        self._wide = bool(values.get("wide"))
        self._element = element_type(16 if self._wide else 8)
        self._lines = [
            self._touched("y", "k", values["stride_y"], values["padding_top"], values["input_height"]),
            self._touched("x", "l", values["stride_x"], values["padding_left"], values["input_width"]),
        ]

    def _touched(self, out: str, tap: str, stride: int, pad: int, size: int) -> Indices:
        lines = {y * stride + k - pad for y in range(self._extents[out]) for k in range(self._extents[tap])}
        return np.array(sorted(line for line in lines if 0 <= line < size), np.int64)

    def _bytes(self, columns: Indices) -> Indices:
        """The bytes of these columns, from the row's first one on."""
        size = self._element.itemsize
        return (size * columns[:, None] + np.arange(size)).reshape(-1)

    def _in_ring(self, places: Indices, port: str) -> Indices:
        end, size = (self._values[f"ring_{port}_{what}"] for what in ("end", "size"))
        places = places % (1 << 32)
        wrapped = np.where(places < end, places, places - size)
        if wrapped.size and not end - size <= wrapped.min() <= wrapped.max() < end:
            raise ProgramError(f"port {port}: an address outside of the ring of {size} bytes up to {end:#x}")
        return wrapped

    def sources(self) -> list[Indices]:
        """Addresses of the touched input [c, h, w], the packed weights, the biases and the partial sums."""
        v, e = self._values, self._extents
        channels = (np.arange(self._groups)[:, None] * v["group_inputs"] + np.arange(e["c"])).ravel()
        rows, columns = self._lines
        inputs = (
            v["input_base"]
            + channels[:, None, None] * v["input_plane"]
            + rows[:, None] * v["input_pitch"]
            + self._bytes(columns)
        )
        size = packed_size(self._schedule)
        return [
            self._in_ring(inputs, "i"),
            self._in_ring(v["weight_base"] + np.arange(size), "w"),
            v["bias_base"] + np.arange(self._parameters.record_bytes * e["m"]),
            np.zeros(0, np.int64) if v["first_part"] else self._partial_sums,
        ]

    def target(self) -> Indices:
        """Addresses that are written, and those of the partial sums."""
        v, e = self._values, self._extents
        if not v["last_part"]:
            return self._partial_sums
        places = (
            v["output_base"]
            + np.arange(e["m"])[:, None, None] * v["output_plane"]
            + np.arange(e["y"])[:, None] * v["output_pitch"]
            + self._bytes(np.arange(e["x"]))
        )
        return self._in_ring(places, "o")

    @property
    def _partial_sums(self) -> Indices:
        v, e = self._values, self._extents
        places = (
            v["partial_base"]
            + np.arange(e["m"])[:, None, None] * v["partial_plane"]
            + np.arange(e["y"])[:, None] * v["partial_pitch"]
            + np.arange(SUM_BYTES * e["x"])
        )
        return self._in_ring(places, "o")

    def result(self, read: list[Bytes]) -> Bytes:
        """The bytes to write."""
        v, e, layer = self._values, self._extents, self._schedule.layer
        rows, columns = self._lines
        sums = np.zeros((e["m"], e["y"], e["x"]), np.int32)
        bias, requantisation = self._requantisation(read[2])
        weights = self._unpacked(read[1])
        if not (len(rows) and len(columns)):  # padding alone
            sums += requantisation.zero_in * weights.sum((1, 2, 3), np.int32)[:, None, None]
        else:
            inputs = np.zeros((layer.input_channels, layer.input_height, layer.input_width), self._element)
            inputs[:, rows[:, None], columns] = np.ascontiguousarray(read[0]).view(self._element)
            sums = convolve(layer, inputs, weights, v.get("product_shift", 0), requantisation.zero_in)
        if not v["first_part"]:
            before = np.ascontiguousarray(read[3]).view("<i4")
            sums = (sums.astype(np.int64) + before).astype(np.int32)
        if not v["last_part"]:
            return np.ascontiguousarray(sums.astype("<i4")).view(np.uint8)
        outputs = requantise(sums, bias, requantisation, bits=8 * self._element.itemsize)
        return np.ascontiguousarray(outputs).view(np.uint8)

    def _requantisation(self, records: Bytes) -> tuple[NDArray[np.int32], Requantisation]:
        """Biases, and what becomes of sums."""
        form = self._parameters.requantisation
        bias, scales = records_content(records.view(np.int8), form)
        if form == "scaled":
            return bias, scaled_requantisation(self._values, scales)
        return bias, requantisation_of(self._values)

    def _unpacked(self, packed: Bytes) -> NDArray[np.signedinteger]:
        """Weights [m, c, k, l], read from the places that the packer gives them."""
        e = self._extents
        shape = (e["m"], e["c"], e["k"], e["l"] * self._element.itemsize)  # in bytes
        numbers = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
        found = np.zeros(packed.size, np.int64)
        for byte in range(3):
            part = (numbers >> 8 * byte & 0xFF).astype(np.uint8).view(self._element)
            found |= pack_weights(self._schedule, part).view(np.uint8).astype(np.int64) << 8 * byte
        weights = np.zeros(numbers.size, np.uint8)
        weights[found[found > 0] - 1] = packed[found > 0]
        return weights.reshape(shape).view(self._element)

    @property
    def _schedule(self) -> Schedule:
        """The nest that the HWC runs."""
        v, e, p = self._values, self._extents, self._parameters
        rows, columns = (
            (e[out] - 1) * v[f"stride_{out}"] + e[tap] - v[f"padding_{side}"] - v[f"input_{size}"]
            for out, tap, side, size in (("y", "k", "top", "height"), ("x", "l", "left", "width"))
        )
        layer = Layer.model_construct(
            name="part",
            op="conv",
            input_channels=self._groups * e["c"],
            output_channels=e["m"],
            input_height=v["input_height"],
            input_width=v["input_width"],
            output_height=e["y"],
            output_width=e["x"],
            kernel=(e["k"], e["l"]),
            stride=(v["stride_y"], v["stride_x"]),
            padding=(v["padding_top"], v["padding_left"], rows, columns),
            groups=self._groups,
        )
        nest: list[Loop | Marker] = []
        for j, dim in enumerate(p.loops):
            nest += [Marker(("W",))] if j == p.weight_marker else []
            nest.append(Loop(dim, v[f"step_{j}_{dim}"]))  # type: ignore[arg-type]
        width = 8 * self._element.itemsize
        return Schedule.model_construct(
            layer=layer,
            bits=Bits(I=width, W=width, O=width),
            nest=tuple(nest),
            lanes=p.wide_lanes if self._wide else p.lanes,
            ports=p.ports,
            requantisation=p.requantisation,
        )
