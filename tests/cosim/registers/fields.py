"""What SystemRDL says about a register field, checked against the design at its configuration port."""

from collections.abc import Callable

from systemrdl.node import AddrmapNode, FieldNode, RegNode
from systemrdl.rdltypes import AccessType, OnWriteType

from tests.cosim.registers.port import Port

__all__ = ["check_bank"]

PATTERNS = (0xFFFFFFFF, 0xAAAAAAAA, 0x55555555, 0)
CLEAR = ("control", "clear")
ABORT = ("control", "abort")
MORE = ("control", "more")
"""The pulse that does nothing while the block is idle."""
"""The pulse that forgets the error of a refused access, in banks that have one."""
FAULT_ADDRESS = "fault_address"
"""The register that has the address of the refused access."""


def check_bank(port: Port, bank: AddrmapNode, set_flags: Callable[[int], None] | None = None) -> int:
    """Raise `AssertionError` where a field's reset value or access is not what the bank says; the number of fields.

    ``set_flags`` has the hardware set bits of the ``w1c`` fields, which the caller knows how to do.
    """
    port.reset()
    registers = list(bank.registers())
    for register in registers:
        word = port.read(register.address_offset)
        assert not word.refused, register.inst_name
        assert word.data == sum(_reset(field) << field.low for field in register.fields() if field.is_sw_readable), (
            register.inst_name
        )
    _check_holes(port, registers)
    count = 0
    for register in registers:
        for field in register.fields():
            port.reset()
            _check_field(port, bank, register, field, set_flags)
            count += 1
    return count


def _reset(field: FieldNode) -> int:
    value = field.get_property("reset")
    assert isinstance(value, int), field.get_path()
    return value


def _mask(field: FieldNode) -> int:
    return ((1 << field.width) - 1) << field.low


def _check_holes(port: Port, registers: list[RegNode]) -> None:
    """Where no register is, accesses are refused."""
    known = {register.address_offset for register in registers}
    for address in range(0, max(known) + 64, 4):
        if address not in known:
            assert port.read(address).refused, hex(address)
            assert port.write(address, 0).refused, hex(address)


def _check_field(
    port: Port, bank: AddrmapNode, register: RegNode, field: FieldNode, set_flags: Callable[[int], None] | None
) -> None:
    path = field.get_path()
    if field.get_property("sw") is AccessType.r:
        _check_read_only(port, bank, register, field)
    elif field.get_property("sw") is AccessType.w:
        _check_write_only(port, register, field)
    elif field.get_property("singlepulse"):
        _check_pulse(port, bank, register, field)
    elif field.get_property("onwrite") is OnWriteType.woclr:
        assert set_flags is not None, path
        _check_cleared_by_ones(port, register, field, set_flags)
    else:
        assert (field.get_property("sw"), field.get_property("onwrite")) == (AccessType.rw, None), path
        _check_held(port, register, field)
    _check_bits_beside(port, register, field)


def _check_held(port: Port, register: RegNode, field: FieldNode) -> None:
    """Every pattern that is written is read back, whatever was there before."""
    address, path = register.address_offset, field.get_path()
    others = port.read(address).data & ~_mask(field)
    for pattern in PATTERNS:
        value = pattern & _mask(field)
        assert not port.write(address, others | value).refused, path
        assert port.read(address).data == others | value, path


def _check_write_only(port: Port, register: RegNode, field: FieldNode) -> None:
    """Every pattern is accepted, and reads zero."""
    for pattern in PATTERNS:
        assert not port.write(register.address_offset, pattern & _mask(field)).refused, field.get_path()
        assert port.read(register.address_offset).data & _mask(field) == 0, field.get_path()


def _check_read_only(port: Port, bank: AddrmapNode, register: RegNode, field: FieldNode) -> None:
    """A write is refused and changes nothing; the bank writes down the error and its address, nothing else."""
    address, path = register.address_offset, field.get_path()
    before = port.read(address).data
    for pattern in (~before & _mask(field), _mask(field)):
        assert port.write(address, pattern).refused, path
        _clear(port, bank)
        expected = address if register.inst_name == FAULT_ADDRESS else before
        assert port.read(address).data == expected, path
    if all(one.get_property("sw") is AccessType.r for one in register.fields()):
        assert port.write(address, before).refused, path


def _clear(port: Port, bank: AddrmapNode) -> None:
    control = bank.get_child_by_name(CLEAR[0])
    if isinstance(control, RegNode):
        pulse = control.get_child_by_name(CLEAR[1])
        assert isinstance(pulse, FieldNode)
        assert not port.write(control.address_offset, _mask(pulse)).refused


def _check_pulse(port: Port, bank: AddrmapNode, register: RegNode, field: FieldNode) -> None:
    """A one is accepted and reads 0. A start or a load shows in the status, a clear forgets what is there, an abort
    of nothing is nothing, nor is what belongs to a start without one."""
    address, path = register.address_offset, field.get_path()
    status = bank.get_child_by_name("status")
    clears = (register.inst_name, field.inst_name) == CLEAR
    if clears:
        assert port.write(max(one.address_offset for one in bank.registers()) + 4, 0).refused
    if isinstance(status, RegNode):
        assert (port.read(status.address_offset).data != 0) == clears, path
    assert not port.write(address, 0).refused, path
    assert not port.write(address, _mask(field)).refused, path
    assert port.read(address).data & _mask(field) == 0, path
    if isinstance(status, RegNode):
        shows = (register.inst_name, field.inst_name) not in (CLEAR, ABORT, MORE)
        assert (port.read(status.address_offset).data != 0) == shows, path


def _check_cleared_by_ones(port: Port, register: RegNode, field: FieldNode, set_flags: Callable[[int], None]) -> None:
    """A zero leaves a bit that the hardware has set, a one clears it, and software cannot set one."""
    address, path = register.address_offset, field.get_path()
    ones = (1 << field.width) - 1
    assert not port.write(address, _mask(field)).refused, path
    assert port.read(address).data & _mask(field) == 0, path
    set_flags(ones)
    assert port.read(address).data & _mask(field) == _mask(field), path
    assert not port.write(address, 0).refused, path
    assert port.read(address).data & _mask(field) == _mask(field), path
    for bit in range(field.width):
        set_flags(ones)
        assert not port.write(address, 1 << field.low + bit).refused, path
        assert port.read(address).data & _mask(field) == _mask(field) & ~(1 << field.low + bit), path


def _check_bits_beside(port: Port, register: RegNode, field: FieldNode) -> None:
    """A field ends where it says: ones beside it, in no other field that can be written, are refused."""
    writable = sum(_mask(one) for one in register.fields() if one.get_property("sw") is not AccessType.r)
    for bit in (field.low - 1, field.high + 1):
        if 0 <= bit < 32 and not writable >> bit & 1:
            port.reset()
            assert port.write(register.address_offset, 1 << bit).refused, f"{field.get_path()}: bit {bit}"
