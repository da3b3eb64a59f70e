"""Icarus Verilog: the simulator that knows unknown bits."""

from pathlib import Path
from typing import Any

from cosim.device.device import HARNESS, Device
from cosim.simulator.simulator import Form, Simulator
from cosim.simulator.steps import build_request, launch
from hwgen.tools.processes import completed
from hwgen.tools.toolchain import ToolError, environment

__all__ = ["Icarus"]


class Icarus(Simulator):
    """See `Simulator`."""

    tool = "icarus"
    forms = frozenset[Form](("bench", "program"))
    depths = (14, 17, 20, 23)

    def make(self, folder: Path, device: Device, form: Form, *, waves: bool) -> None:
        """See `Simulator`."""
        files = self.write(folder, device)
        if form == "bench":
            files += [HARNESS / "memory_files.sv"] if device.memory else []
            macros = [f"-D{name}" for name in device.macros]
            request = build_request(
                "icarus", folder, files, device.top, parameters=device.sizes, arguments=macros, waves=waves
            )
            launch(request, folder)
            return
        options = ["-g2012", "-s", device.clock, "-o", str(folder / "simulator")]
        status, printed = completed(["iverilog", *options, *map(str, files)], environment("icarus"))
        if status:
            raise ToolError(f"icarus: build failed: {printed.strip().partition(chr(10))[0]}")

    def command(self, built: Path) -> list[str]:
        """See `Simulator`."""
        return ["vvp", "-n", str(built / "simulator")]

    def recording(self, waves: Path) -> dict[str, Any]:
        """See `Simulator`."""
        return {"plusargs": [f"+dumpfile_path={waves}"]}
