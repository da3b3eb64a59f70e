"""Assembles descriptors from words, and refuses those that leave their address windows."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.descriptor import FIELDS, PACKED_WORDS, SCATTERED_WORDS, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.registers.errors import DmaError
from hwgen.gateware.dma.settings import DmaSettings
from hwgen.gateware.lib.register_bank import ERROR

__all__ = ["DescriptorReader", "checked_layout"]

_COUNTS = ("length", "count_1", "count_2")
_TCDM = ("tcdm_address", "tcdm_stride_1", "tcdm_stride_2", "fast_stride", "slow_stride")


def checked_layout(parameters: DmaParameters) -> data.StructLayout:
    """A valid descriptor: its fields at their used widths, and the end and size of its ring.

    Without a ring, ``end`` is beyond every address. If the bytes are not scattered, ``fold`` exceeds every run.
    """
    widths = {entry.name: entry.width for entry in FIELDS if entry.name != "ring"}
    widths |= {name: min(widths[name], parameters.tcdm_address_bits) for name in _TCDM}
    widths["fold"] = widths["length"]
    ring = parameters.tcdm_address_bits + 1
    return data.StructLayout({**widths, "ring_end": ring, "ring_size": ring})


class DescriptorReader(wiring.Component):
    """Assembles and checks a descriptor while the previous one is being executed.

    Parameters
    ----------
    parameters
        What the DMA is generated for.
    scatters
        Whether fast strides other than 1, and descriptors that are continued by the next one, are valid.

    Members
    -------
    i_word : In(stream)
        Words of consecutive descriptors.
    o_descriptor : Out(stream of `checked_layout`)
    settings : In
    empty : Out(1)
        No word of a descriptor has been read.
    awaits : Out(1)
        The last descriptor is continued by the next one.
    error, error_address : Out
        Why a descriptor was refused, and its DRAM or TCDM address; `DmaError.NONE` if none was. After an error no
        descriptor passes until reset.
    """

    def __init__(self, parameters: DmaParameters, *, scatters: bool) -> None:
        self.parameters, self._scatters = parameters, scatters
        super().__init__(
            {
                "i_word": In(stream.Signature(32)),
                "o_descriptor": Out(stream.Signature(checked_layout(parameters))),
                "settings": In(DmaSettings(parameters)),
                "empty": Out(1),
                "awaits": Out(1),
                "error": Out(ERROR),
                "error_address": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        fields = {entry.name: Signal(entry.width, name=entry.name) for entry in FIELDS}
        index = Signal(range(SCATTERED_WORDS))
        word = self.i_word.payload
        # The end address of each side without wrapping, accumulated while the words arrive: the product with each
        # stride is added in the next word's cycle. (Scattered descriptors are in rings only: their sums are unused.)
        product, factor = Signal(48), Signal(16)
        dram_end, tcdm_end = Signal(50), Signal(50)
        last = Mux(fields["scattered"], SCATTERED_WORDS - 1, PACKED_WORDS - 1)
        m.d.comb += factor.eq(Mux((index == 3) | (index == 6), fields["count_1"], fields["count_2"]) - 1)
        with m.FSM() as fsm:
            with m.State("Collect"):
                m.d.comb += self.i_word.ready.eq(1)
                with m.If(self.i_word.valid):
                    m.d.sync += [index.eq(index + 1), product.eq(factor * word)]
                    with m.Switch(index):
                        for at in range(SCATTERED_WORDS):
                            with m.Case(at):
                                m.d.sync += [
                                    fields[entry.name].eq(word[entry.low : entry.low + entry.width])
                                    for entry in FIELDS
                                    if entry.word == at
                                ]
                    with m.Switch(index):
                        with m.Case(1):
                            m.d.sync += dram_end.eq(word + fields["length"])
                        with m.Case(4, 5):
                            m.d.sync += dram_end.eq(dram_end + product)
                        with m.Case(7):
                            m.d.sync += tcdm_end.eq(tcdm_end + product)
                    with m.If(index == 5):
                        m.d.sync += tcdm_end.eq(word + fields["length"])
                    with m.If((index != 0) & (index == last)):
                        m.next = "Sum"
            with m.State("Sum"):
                m.d.sync += [tcdm_end.eq(tcdm_end + product), index.eq(0)]
                m.next = "Judge"
            with m.State("Judge"):
                m.next = "Offer"
            with m.State("Offer"):
                m.d.comb += self.o_descriptor.valid.eq(self.error == DmaError.NONE)
                with m.If(self.o_descriptor.valid & self.o_descriptor.ready):
                    m.next = "Collect"
        m.d.comb += self.empty.eq(fsm.ongoing("Collect") & (index == 0))
        strays = self._continued(m, fields, dram_end)
        self._judge(m, fields, dram_end, tcdm_end, strays, fsm.ongoing("Judge"))
        payload = self.o_descriptor.payload
        m.d.comb += [getattr(payload, name).eq(value) for name, value in fields.items() if name != "ring"]
        with m.If(~fields["scattered"]):
            m.d.comb += [payload.fold.eq(~0), payload.fast_stride.eq(1)]
        return m

    def _continued(self, m: Module, fields: dict[str, Signal], dram_end: Value) -> Value:
        """Whether the previous descriptor is continued, and this descriptor does not continue it."""
        address, tag = Signal(32), Signal.like(fields["tag"])
        with m.If(self.o_descriptor.valid & self.o_descriptor.ready):
            m.d.sync += [self.awaits.eq(fields["continues"]), address.eq(dram_end), tag.eq(fields["tag"])]
        return self.awaits & ((fields["dram_address"] != address) | (fields["tag"] != tag))

    def _judge(
        self, m: Module, fields: dict[str, Signal], dram_end: Value, tcdm_end: Value, strays: Value, now: Value
    ) -> None:
        """Register, in the cycle ``now``, the end and size of the ring, and the error."""
        settings, offered = self.settings, self.o_descriptor.payload
        width = len(settings.tcdm_end)
        end, size = Signal(width), Signal(width)
        fixed = fields["ring"] == RingSelect.FIXED
        with m.Switch(fields["ring"]):
            for ring, name in ((RingSelect.I, "i"), (RingSelect.W, "w"), (RingSelect.O, "o")):
                with m.Case(ring):
                    m.d.comb += [
                        end.eq(getattr(settings, f"ring_{name}_end")),
                        size.eq(getattr(settings, f"ring_{name}_size")),
                    ]
        begin = Signal(width)
        m.d.comb += begin.eq(end - size)
        ring_end, ring_size = Signal(width), Signal(width)
        with m.If(now):
            m.d.sync += [ring_end.eq(Mux(fixed, (1 << width) - 1, end)), ring_size.eq(size)]
        m.d.comb += [offered.ring_end.eq(ring_end), offered.ring_size.eq(ring_size)]

        address = fields["tcdm_address"]
        scattered = fields["scattered"]
        no_ring = (end[:2] | size[:2]).any() | (size < 2 * self.parameters.beat_bytes) | (size > end)
        strides = ("tcdm_stride_1", "tcdm_stride_2")
        too_far = [fields[name] >= size for name in strides]
        too_far += [scattered & (fields[name] >= size) for name in ("fast_stride", "slow_stride")]
        outside = Mux(
            fixed,
            (address < settings.tcdm_base) | (tcdm_end > settings.tcdm_end),
            (end > settings.tcdm_end) | (begin < settings.tcdm_base) | (address < begin) | (address >= end)
            | _any(too_far),
        )  # fmt: skip
        beyond = (fields["dram_address"] < settings.dram_base) | (dram_end > settings.dram_end)
        unsound = _any([fields[name] == 0 for name in _COUNTS])
        unsound |= (scattered & ((fields["fold"] == 0) | fixed)) | strays
        if not self._scatters:
            unsound |= (scattered & (fields["fast_stride"] != 1)) | fields["continues"]
        for wrong, code, where in (
            (outside, DmaError.TCDM_WINDOW, address),
            (beyond, DmaError.DRAM_WINDOW, fields["dram_address"]),
            (unsound | (~fixed & no_ring), DmaError.DESCRIPTOR, fields["dram_address"]),
        ):
            with m.If(now & wrong):
                m.d.sync += [self.error.eq(code), self.error_address.eq(where)]


def _any(conditions: list[Value]) -> Value:
    return Cat(conditions).any()
