"""Every register field of the three tops: reset value and access in the RTL are those of the SystemRDL."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from hwgen.arch.registers.bank import Access, Bank
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.registers.hwc import WATCHDOG_PERIOD, hwc_registers, layer_settings
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.export.cached import generated
from hwgen.export.conversion import converted
from hwgen.export.pipeline import pipeline_verilog
from hwgen.export.registers.files import system_rdl
from hwgen.export.registers.peakrdl import compiled
from hwgen.gateware.hwc.registers import ControlRegisters
from hwgen.gateware.lib.register_bank import RegisterBank
from tests.cosim.cluster.test_faults import PARAMETERS as CLUSTER
from tests.cosim.cluster.test_faults import model as cluster_model
from tests.cosim.registers.fields import check_bank
from tests.cosim.registers.port import ClusterPort, RegisterPort, build
from tests.export.test_hwc import PARAMETERS as HWC
from tests.gateware.lib.test_register_bank import sample
from tests.gateware.pipeline.test_faults import PARAMETERS as PIPELINE


def fields(bank: Bank) -> int:
    return sum(len(register.fields) for register in bank)


def test_hwc() -> None:
    bank = hwc_registers(HWC)
    extra = {f"tcdm_{port}__{name}": f"extra[{i}]" for i, (name, port) in enumerate(product(ANSWERS, "iwo"))}
    port = RegisterPort(build(generated(HWC), "hwc", "cfg", watch=REQUESTS, extra=extra))
    assert check_bank(port, compiled(system_rdl(bank))) == fields(bank) > 60
    check_without_reset(port, bank)
    for stopped_by in (HwcError.WATCHDOG, HwcError.ABORTED):
        check_memory_that_never_grants(port, bank, stopped_by)


ANSWERS = ("gnt", "r_valid")
REQUESTS = [f"tcdm_{port}__req" for port in "iwo"]


def sound(bank: Bank) -> dict[int, int]:
    """The settings of a layer of one multiplication, by address."""
    ones = ("extent_", "step_", "stride_", "group_", "input_slab", "input_height", "input_width")
    settings = {one.address: int(one.name.startswith(ones)) for one in layer_settings(bank)}
    return settings | {bank["program_digest"].address: HWC.digest, bank["write_last"].address: 0xFFFFFFFF}


def check_memory_that_never_grants(port: RegisterPort, bank: Bank, stopped_by: HwcError) -> None:
    """The layer stops with an interrupt, though its request stays, as the bus wants it; it ends with the answer."""
    control, status = bank["control"].address, bank["status"].address
    port.reset()
    for address, value in sound(bank).items():
        port.write(address, value)
    port.write(bank["watchdog"].address, 2 * (stopped_by is HwcError.WATCHDOG))
    port.write(control, Control.START)
    port.seen(2 * WATCHDOG_PERIOD - 50)
    requests = [port.output(name) for name in REQUESTS]
    assert any(requests)
    if stopped_by is HwcError.ABORTED:
        port.seen(10 * WATCHDOG_PERIOD)
        port.write(control, Control.ABORT)
    else:
        port.seen(100)
    assert port.read(status).data == Status.BUSY, "it awaits its answers"
    port.seen(WATCHDOG_PERIOD)
    assert port.read(status).data == Status.BUSY | Status.FAILED | stopped_by << 8
    assert [port.output(name) for name in REQUESTS] == requests
    port.write(control, Control.CLEAR)
    assert port.read(status).data == Status.BUSY
    while any(requests):  # a port may have taken another one before it stopped
        for cycles in (0, len(REQUESTS)):  # grants, then answers
            port.drive(sum(request << cycles + i for i, request in enumerate(requests)))
        requests = [port.output(name) for name in REQUESTS]
    assert not port.seen(10)
    assert port.read(status).data == Status.FAILED | stopped_by << 8, "now it has ended, which is another interrupt"


def check_without_reset(port: RegisterPort, bank: Bank) -> None:
    """After power-up nothing starts and no access is made until there was a reset."""
    control, status = bank["control"].address, bank["status"].address

    def start() -> int:
        port.write(control, Control.CLEAR)
        for address, value in sound(bank).items():
            assert not port.write(address, value).refused
        port.write(control, Control.START)
        return port.read(status).data

    moved = 0
    for seed in range(1, 41):
        port.power_up(seed)
        moved += port.seen(4)  # a register of a port may come up as a request
        assert start() == Status.FAILED | HwcError.LOCKED << 8, seed
        assert not port.seen(100), seed
    port.reset()
    assert start() & Status.BUSY
    assert port.seen(100)
    assert moved, "registers come up at random"


def test_settings_that_can_be_read_back() -> None:
    parameters = replace(HWC, read_back=True)
    bank = hwc_registers(parameters)
    assert {field.access for register in bank.held for field in register.fields} == {Access.RW}
    text = converted(ControlRegisters(parameters), "registers")
    port = RegisterPort(build(text, "registers", "port"))
    assert check_bank(port, compiled(system_rdl(bank))) == fields(bank) > 60


def test_cluster() -> None:
    bank = cluster_registers(CLUSTER)
    port = ClusterPort(cluster_model())
    assert check_bank(port, compiled(system_rdl(bank))) == fields(bank) > 40
    port.reset()  # the tests of faults use the same model


def test_pipeline() -> None:
    bank = pipeline_registers(PIPELINE)
    port = RegisterPort(build(pipeline_verilog(PIPELINE), "pipeline", "cfg"))
    assert check_bank(port, compiled(system_rdl(bank))) == fields(bank) > 20


@pytest.fixture(scope="module")
def sample_port() -> RegisterPort:
    text = converted(RegisterBank(sample()), "sample")
    library = build(text, "sample", "port", extra={"events__mixed_flags": "extra"})
    return RegisterPort(library)


def test_every_kind_of_access_in_one_bank(sample_port: RegisterPort) -> None:
    assert {field.access for register in sample() for field in register.fields} == set(Access)
    assert check_bank(sample_port, compiled(system_rdl(sample())), sample_port.drive) == fields(sample())


def changed(register: str, field: str, **changes: object) -> Callable[[], Bank]:
    """The sample with one field that is described otherwise."""

    def make() -> Bank:
        bank = sample()
        registers = tuple(
            replace(one, fields=tuple(
                replace(inner, **changes) if (one.name, inner.name) == (register, field) else inner  # type: ignore[arg-type]
                for inner in one.fields
            ))
            for one in bank
        )  # fmt: skip
        return replace(bank, registers=registers)

    return make


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (changed("size", "value", reset=8), "size"),
        (changed("identity", "value", reset=0), "identity"),
        (changed("size", "value", width=11), "sample.size.value"),
        (changed("size", "value", width=13), "sample.size.value"),
        (changed("size", "value", access=Access.RO), "sample.size.value"),
        (changed("hidden", "value", access=Access.RW), "hidden"),
        (changed("size", "value", access=Access.WO), "size"),
        (changed("amount", "value", access=Access.RW), "sample.amount.value"),
        (changed("mixed", "go", access=Access.RW), "sample.mixed.go"),
        (changed("mixed", "go", access=Access.W1C), "sample.mixed.go"),
        (changed("mixed", "flags", access=Access.RW), "sample.mixed.flags"),
        (changed("mixed", "flags", access=Access.RO), "sample.mixed.flags"),
        (changed("mixed", "amount", access=Access.W1C), "sample.mixed.amount"),
    ],
)
def test_what_is_described_otherwise_is_noticed(
    make: Callable[[], Bank], where: str, sample_port: RegisterPort
) -> None:
    with pytest.raises(AssertionError) as caught:
        check_bank(sample_port, compiled(system_rdl(make())), sample_port.drive)
    assert str(caught.value).startswith(where)


def test_a_register_at_another_address_is_noticed(sample_port: RegisterPort) -> None:
    bank = sample()
    moved = replace(bank, registers=(*bank.registers[:-1], replace(bank["hidden"], address=0x4C)))
    with pytest.raises(AssertionError, match="hidden"):
        check_bank(sample_port, compiled(system_rdl(moved)), sample_port.drive)
