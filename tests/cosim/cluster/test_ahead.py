"""The simulator of a cluster that a network needs is built while the network is planned."""

from pathlib import Path
from threading import current_thread, main_thread

import pytest

import hwgen
from cosim.cluster.ahead import begin_network
from cosim.cluster.model import load_cluster
from cosim.device.device import Device
from cosim.simulator.ahead import Ahead
from cosim.simulator.verilator import Verilator
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.readers.integers.reader import read_quantised
from hwgen.tools.toolchain import ToolError

MODEL = Path(__file__).parents[2] / "cli" / "networks" / "cases" / "3x3_s5.onnx"
CLUSTER = "cluster_16_vector"


def test_the_same_build_is_wanted_ahead_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[type[Verilator], Device, str, bool]] = []

    def build(simulator: Verilator, device: Device, form: str, *, waves: bool = False) -> Path:
        asked.append((type(simulator), device, form, current_thread() is main_thread()))
        raise ToolError("not built")

    monkeypatch.setattr(Verilator, "build", build)
    load_cluster.cache_clear()  # an earlier test of this process may have run on this cluster
    with pytest.raises(ToolError, match="not built"):
        hwgen.run(MODEL, None, CLUSTER, seed=1)
    (*ahead, in_thread), (*wanted, in_main) = asked
    assert (in_thread, in_main) == (False, True)
    assert ahead == wanted


def test_what_is_not_one_cluster_is_not_built_ahead() -> None:
    graph, cluster = read_quantised(MODEL), load_hardware(named_file("hardware", CLUSTER))
    for wanted, machine in (
        (False, cluster),
        (True, cluster.model_copy(update={"cluster": None})),
        (True, cluster.model_copy(update={"order": None})),
    ):
        with Ahead(wanted=wanted) as ahead:
            begin_network(ahead, graph, machine, 1)
        assert not ahead.begun
