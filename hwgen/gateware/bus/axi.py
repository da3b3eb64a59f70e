"""The subset of AXI4 that the DMA uses: INCR bursts of full beats, seen from the master."""

from amaranth.hdl import Module, Signal, Value, ValueLike
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import AXI_WIDTHS, ID_BITS
from hwgen.arch.parameter_error import ParameterError

__all__ = ["INCR", "USER_BITS", "AxiSignature", "Register", "Response", "User", "address_layout", "is_error"]

INCR = 0b01


class Response(enum.Enum, shape=2):
    """RRESP and BRESP."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


def is_error(response: ValueLike) -> Value:
    """Whether a response is an error: all but OKAY are. EXOKAY answers exclusive accesses, of which none is made."""
    return Value.cast(response) != Value.cast(Response.OKAY)


class User(data.Struct):
    """AxUSER: the operand that a burst is counted as (an `OperandTag`), and the unused bytes of its last beat.

    The address is that of the first used byte, so address and user field give the used bytes exactly.
    """

    tag: 4
    unused: 4


USER_BITS = 8


class Address(data.Struct):
    """One burst: byte address of the first byte, beats less one, AxUSER."""

    address: 32
    length: 8
    user: User


def address_layout(**more: object) -> data.StructLayout:
    """An `Address` with a tag that its sender gets back."""
    return data.StructLayout({"burst": Address, **more})


class AxiSignature(wiring.Signature):
    """An AXI4 port, seen from the master; the names are those of the standard.

    AxLOCK, AxCACHE, AxPROT, AxQOS and AxREGION are not there: tie them to constants where the port is connected.

    Parameters
    ----------
    data_bits
        32, 64 or 128.
    id_bits
        Width of the IDs; after an interconnect they are wider than `ID_BITS`.
    """

    def __init__(self, data_bits: int, id_bits: int = ID_BITS) -> None:
        if data_bits not in AXI_WIDTHS:
            raise ParameterError(f"data_bits: expected 32, 64 or 128, got {data_bits}")
        self.data_bits, self.id_bits = data_bits, id_bits
        members: dict[str, object] = {}
        for channel in ("aw", "ar"):
            members |= {
                f"{channel}id": Out(id_bits),
                f"{channel}addr": Out(32),
                f"{channel}len": Out(8),
                f"{channel}size": Out(3),
                f"{channel}burst": Out(2),
                f"{channel}user": Out(USER_BITS),
                f"{channel}valid": Out(1),
                f"{channel}ready": In(1),
            }
        members |= {
            "wdata": Out(data_bits),
            "wstrb": Out(data_bits // 8),
            "wlast": Out(1),
            "wvalid": Out(1),
            "wready": In(1),
            "bid": In(id_bits),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
            "rid": In(id_bits),
            "rdata": In(data_bits),
            "rresp": In(2),
            "rlast": In(1),
            "rvalid": In(1),
            "rready": Out(1),
        }
        super().__init__(members)


class Register(wiring.Component):
    """A register stage in a stream. Its payload is stable until accepted, even if the source changes.

    Parameters
    ----------
    shape
        Of the payload.

    Members
    -------
    i_payload, o_payload : In, Out(stream)
    """

    def __init__(self, shape: object) -> None:
        super().__init__({"i_payload": In(stream.Signature(shape)), "o_payload": Out(stream.Signature(shape))})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        held = Signal.like(self.o_payload.payload)
        full = Signal()
        m.d.comb += [
            self.o_payload.valid.eq(full),
            self.o_payload.payload.eq(held),
            self.i_payload.ready.eq(~full | self.o_payload.ready),
        ]
        with m.If(self.i_payload.ready):
            m.d.sync += full.eq(self.i_payload.valid)
            with m.If(self.i_payload.valid):
                m.d.sync += held.eq(self.i_payload.payload)
        return m
