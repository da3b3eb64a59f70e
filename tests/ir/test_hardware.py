"""Hardware files: round trips and rejections."""

from pathlib import Path
from typing import Any

import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, DmaCost, Dram, Hardware, order_of, save_hardware
from hwgen.ir.lanes import Lanes, Ports
from hwgen.ir.schedule import Loop, Marker, Schedule
from tests.ir.test_schedule import fig_8

PLAIN: dict[str, Any] = {"format": 1, "kind": "hardware", "name": "h"}


def test_the_order_of_a_schedule() -> None:
    schedule = Schedule.from_data(fig_8())
    order = order_of(schedule)
    assert order == ("m", "y", "x", Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "l")
    assert [item.dim for item in schedule.nest if isinstance(item, Loop)] == [i for i in order if isinstance(i, str)]


def test_round_trip(tmp_path: Path) -> None:
    hardware = Hardware(
        name="hwc_1k",
        budget=1024,
        buffers={"I": 400, "W": 100, "O": 512},
        order=order_of(Schedule.from_data(fig_8())),
    )
    path = tmp_path / "h.yaml"
    assert save_hardware(hardware, path)
    assert not save_hardware(hardware, path)
    assert load_hardware(path) == hardware
    wide = Hardware(name="wide", ports=Ports(W=128))
    assert wide.as_data()["ports"] == {"I": 32, "W": 128, "O": 32}
    assert Hardware.from_data(wide.as_data()) == wide
    free = Hardware.from_data(PLAIN)
    assert free.lanes is None
    assert "lanes" not in free.as_data()
    with pytest.raises(InputError, match=r"hardware .*: lanes: expected a shape"):
        _ = free.shape
    measured = DmaCost(transfer=19.5, run=1, byte=0.13)
    cluster = Hardware(name="c", cluster=Cluster(hwcs=2, dram=Dram(latency=20, block_cycles=16.5), load=measured))
    assert cluster.lanes is None
    assert cluster.shape == Lanes(x=16)
    assert Hardware.from_data(cluster.as_data()) == cluster


REJECTED = [
    ([], "h.yaml: expected a mapping with the keys of a hardware file, got []"),
    ({**PLAIN, "kind": "schedule"}, "h.yaml: kind: expected hardware, got 'schedule'"),
    ({**PLAIN, "format": 0}, "h.yaml: format: expected 1, got 0"),
    ({**PLAIN, "clock": 1}, "h.yaml: clock: unknown key"),
    ({**PLAIN, "name": "../h"}, "h.yaml: name: expected letters, digits and any of _ . + -, got '../h'"),
    ({**PLAIN, "lanes": {"x": 0}}, "h.yaml: lanes: x: expected at least 1, got 0"),
    ({**PLAIN, "ports": {"W": 48}}, "h.yaml: ports: W: expected 32, 64, 128, 256, 512 bits, got 48"),
    ({**PLAIN, "ports": {"B": 64}}, "h.yaml: ports: B: expected I, W or O"),
    ({**PLAIN, "ports": 64}, "h.yaml: ports: expected a mapping of I, W, O to bits, got 64"),
    (
        {**PLAIN, "ports": {"W": 256}, "cluster": {"banks": 4}},
        "h.yaml: ports: expected at most 128 bits with 4 banks, got {I: 32, W: 256, O: 32}",
    ),
    ({**PLAIN, "multipliers": 24}, "h.yaml: multipliers: expected a power of two, got 24"),
    ({**PLAIN, "lanes": {"x": 8}, "multipliers": 16}, "h.yaml: multipliers: expected 8 as lanes has, got 16"),
    ({**PLAIN, "budget": 0}, "h.yaml: budget: expected at least 1, got 0"),
    ({**PLAIN, "buffers": {"I": 4}}, "h.yaml: buffers: expected bytes for I, W and O"),
    ({**PLAIN, "buffers": {"I": -4, "W": 4, "O": 4}}, "h.yaml: buffers: I: expected at least 0"),
    ({**PLAIN, "buffers": {"I": 1000, "W": 20, "O": 5}}, "h.yaml: buffers: expected at most 1024 bytes, got 1025"),
    ({**PLAIN, "cluster": {"banks": 3}}, "h.yaml: cluster: banks: expected a power of two, got 3"),
    ({**PLAIN, "cluster": {"tcdm": 5000}}, "h.yaml: cluster: tcdm: expected a multiple of 64 bytes for 16 banks"),
    ({**PLAIN, "cluster": {"dram": {"banks": 6}}}, "h.yaml: cluster: dram: banks: expected a power of two, got 6"),
    ({**PLAIN, "cluster": {"load": {"run": 1, "byte": 1}}}, "h.yaml: cluster: load: transfer: missing key"),
    ({**PLAIN, "order": 5}, "h.yaml: order: expected a list of dimensions and markers, got 5"),
    (
        {**PLAIN, "order": ["q"]},
        "h.yaml: order: item 0: expected one of m c y x k l or a marker ('buffer: I'), got 'q'",
    ),
    ({**PLAIN, "order": [{"m": 4}]}, "h.yaml: order: item 0: expected one of m c y x k l or a marker"),
    ({**PLAIN, "order": ["m", {"buffer": "I"}]}, "h.yaml: order: expected a loop below the last marker"),
    ({**PLAIN, "order": [{"buffer": "I"}, {"buffer": "I"}, "m"]}, "h.yaml: order: buffer: I is marked twice"),
]


@pytest.mark.parametrize(("data", "message"), REJECTED)
def test_rejected(data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Hardware.from_data(data, "h.yaml")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
