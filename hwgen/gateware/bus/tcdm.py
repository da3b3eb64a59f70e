"""The port to the tightly coupled data memory: the PULP handshake, and a master for it."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Request", "TcdmMaster", "TcdmSignature", "read_request"]


class TcdmSignature(wiring.Signature):
    """One 32-bit port, seen from the master.

    A request (``req`` with its payload) is stable until ``gnt``. Every granted request, read or
    write, is answered by one ``r_valid``, in order, in a later cycle; ``r_opc`` marks an error.

    Members
    -------
    req : Out(1)
    gnt : In(1)
    add : Out(32)
        Byte address, word aligned.
    wen : Out(1)
        1 reads, 0 writes.
    be : Out(4)
        Bytes that are written, or that the reader uses.
    wdata : Out(32)
    r_valid, r_opc : In(1)
    r_rdata : In(32)
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "req": Out(1),
                "gnt": In(1),
                "add": Out(32),
                "wen": Out(1),
                "be": Out(4),
                "wdata": Out(32),
                "r_valid": In(1),
                "r_opc": In(1),
                "r_rdata": In(32),
            }
        )


class Request(data.Struct):
    """One access: word-aligned byte address, direction, used bytes, data to write."""

    address: 32
    write: 1
    enable: 4
    data: 32


def read_request(address: ValueLike, enable: ValueLike) -> Value:
    """The whole payload of a read, so that no part of it is a constant of its own."""
    return Cat(Value.cast(address)[:32], C(0, 1), Value.cast(enable)[:4], C(0, 32))


class TcdmMaster(wiring.Component):
    """Turns a stream of requests into accesses, and returns the data of reads.

    Read data has no back-pressure: the requester must have room for it. Answers to writes are not passed on.

    Members
    -------
    i_request : In(stream of Request)
    o_response : Out
        ``valid`` for one cycle per read, in order.
    port : Out(TcdmSignature)
    idle : Out(1)
        No request is pending and no access is outstanding.
    fault : Out(1)
        An access was answered with an error; ``fault_address`` is the address of the first one. Held until reset.
    fault_address : Out(32)
    """

    i_request: In(stream.Signature(Request))
    o_response: Out(wiring.Signature({"valid": Out(1), "data": Out(32)}))
    port: Out(TcdmSignature())
    idle: Out(1)
    fault: Out(1)
    fault_address: Out(32)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        # At most two accesses are outstanding, or one and the request on the bus, so the registers of the port and of
        # the previous request identify the owner of each answer. An answer frees its place in the same cycle: a
        # memory that answers in the cycle after the grant is used in every cycle.
        unanswered, answered = Signal(range(3)), Signal(init=1)
        before, before_reads = Signal(32), Signal()
        granted = self.port.req & self.port.gnt
        answers_before = (unanswered == 2) | self.port.req
        accepts = self.i_request.valid & self.i_request.ready
        request = self.i_request.payload
        m.d.comb += [
            self.i_request.ready.eq((~self.port.req | self.port.gnt) & (answered | self.port.r_valid)),
            self.o_response.valid.eq(self.port.r_valid & Mux(answers_before, before_reads, self.port.wen)),
            self.o_response.data.eq(self.port.r_rdata),
            self.idle.eq(~self.port.req & answered),
        ]
        with m.If(granted ^ self.port.r_valid):
            m.d.sync += [
                unanswered.eq(Mux(granted, unanswered + 1, unanswered - 1)),
                answered.eq(~granted & (unanswered == 1)),
            ]
        with m.If(accepts):
            m.d.sync += [
                before.eq(self.port.add),
                before_reads.eq(self.port.wen),
                self.port.req.eq(1),
                self.port.add.eq(request.address),
                self.port.wen.eq(~request.write),
                self.port.be.eq(request.enable),
                self.port.wdata.eq(request.data),
            ]
        with m.Elif(self.port.gnt):
            m.d.sync += self.port.req.eq(0)
        with m.If(self.port.r_valid & self.port.r_opc & ~self.fault):
            m.d.sync += [self.fault.eq(1), self.fault_address.eq(Mux(answers_before, before, self.port.add))]
        return m
