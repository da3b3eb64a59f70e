"""A simulator: it builds a device once, and runs what was built."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Literal

from cosim.device.device import HARNESS, Device
from cosim.simulator.steps import launch, test_request
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_folder
from hwgen.tools.processes import completed
from hwgen.tools.toolchain import Simulator as Tool
from hwgen.tools.toolchain import ToolError, cache_room, environment, fingerprint, require_tools

__all__ = ["Form", "Simulator"]

INCLUDED = sorted(HARNESS.rglob("*.svh"))
"""Parts of the harness that others include."""

Form = Literal["library", "bench", "program"]
"""How a built device runs: in this process, around a cocotb test bench, or by itself."""


class Simulator(ABC):
    """One way to simulate Verilog.

    Members
    -------
    tool : its program.
    forms : how it can build a device.
    depths : sizes of an HWC's memory, as powers of two in 32-bit words: few, so that one build serves many layers.
    native : an HWC's harness runs without cocotb between its start and its interrupt.
    """

    tool: ClassVar[Tool]
    forms: ClassVar[frozenset[Form]]
    depths: ClassVar[tuple[int, ...]]
    native: ClassVar[bool] = False

    def build(self, device: Device, form: Form, *, waves: bool = False) -> Path:
        """The folder with a built device, made unless it is there; ``waves``: it can write waveforms (FST).

        Raises `ToolError` if a tool is missing or refuses the sources.
        """
        require_tools(self.tool, waves=waves)
        if form not in self.forms:
            raise ToolError(f"{self.tool}: cannot build a {form}")
        folder = self.folder(device, form, waves=waves)
        return kept_folder(folder, lambda fresh: self.make(fresh, device, form, waves=waves))

    def folder(self, device: Device, form: Form, *, waves: bool = False) -> Path:
        """Where a built device is kept: the same for the same sources, options and tools."""
        parts = [file for file in (device.public, device.main) if file]
        files = [*device.files, *INCLUDED, *(HARNESS / name for name in parts), *HARNESS.glob("*.cpp")]
        others = [*files, Path(__file__).parent]
        key = [type(self).__name__, form, waves, asdict(device), fingerprint(self.tool), sources_digest(others)]
        return cache_room("builds") / digest_of(key)

    def has(self, device: Device, form: Form) -> bool:
        """Whether it has built a device."""
        return (self.folder(device, form) / "complete").exists()

    @abstractmethod
    def make(self, folder: Path, device: Device, form: Form, *, waves: bool) -> None:
        """Build a device in an empty folder."""

    @abstractmethod
    def command(self, built: Path) -> list[str]:
        """What starts a device that runs by itself."""

    @abstractmethod
    def recording(self, waves: Path) -> dict[str, Any]:
        """What a request to run a test bench has to say so that waveforms are written to a file."""

    def request(self, built: Path, folder: Path, module: str, top: str, waves: Path | None = None) -> dict[str, Any]:
        """A request to run a test module in a folder; ``waves``: where its waveforms go."""
        request = test_request(self.tool, built / "sim", folder, module, top)
        return request if waves is None else {**request, "waves": True, **self.recording(waves.absolute())}

    def run_test(self, device: Device, folder: Path, module: str, plusargs: Sequence[str] = ()) -> None:
        """Run a cocotb test module in a folder, which HWGEN_JOBS names; `ToolError` if it fails."""
        request = self.request(self.build(device, "bench"), folder, module, device.top)
        launch({**request, "plusargs": list(plusargs)}, folder, {"HWGEN_JOBS": str(folder)})

    def run_program(self, device: Device, arguments: Sequence[str]) -> None:
        """Build and run a device that runs by itself; `ToolError` if it fails."""
        command = [*self.command(self.build(device, "program")), *arguments]
        status, printed = completed(command, environment(self.tool))
        if status:
            raise ToolError(f"{self.tool}: the simulation failed: {printed[-300:]}")

    def write(self, folder: Path, device: Device) -> list[Path]:
        """Write the designs into a folder; all Verilog that is to be read."""
        for name, text in device.designs.items():
            (folder / name).write_text(self.text(device, text), encoding="utf-8")
        return [*device.files, *(folder / name for name in device.designs)]

    def text(self, device: Device, text: str) -> str:
        """A design's Verilog as it is simulated."""
        return text
