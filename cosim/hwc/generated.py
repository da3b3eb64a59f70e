"""What ``hwgen generate`` wrote, read again to be simulated: Verilog and programs of a folder, to the byte."""

from pathlib import Path

from cosim.hwc.results import RunnableProgram
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.parameter_error import ParameterError
from hwgen.export.hwc import PROGRAMS, digest_in
from hwgen.export.hwc_program import ProgramFile, read_images
from hwgen.export.manifest import MANIFEST, Design, Manifest, read_manifest
from hwgen.ir.document import InputError, load_yaml
from hwgen.ir.schedule import load_schedule

__all__ = ["generated_folder", "programs_of", "read_programs", "require_listed", "verilog_in"]


def generated_folder(folder: Path) -> Manifest:
    """The manifest of a folder that ``hwgen generate`` wrote; `InputError` if it is none."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(f"{folder}: expected a folder that hwgen generate wrote, found no {MANIFEST}")
    if manifest.unfinished:
        raise InputError(f"{folder}: expected all that hwgen generate writes; it has not finished: run it once more")
    return manifest


def read_programs(folder: Path) -> list[RunnableProgram]:
    """All programs of the HWCs in a generated folder, in the order of their designs.

    Registers, places of the tensors and operands are those of the files; the schedules say what they are compared
    with. Raises `InputError` for a program of another HWC, or one that the manifest does not know.
    """
    return [program for design in generated_folder(folder).designs for program in programs_of(folder, design)]


def programs_of(root: Path, design: Design) -> list[RunnableProgram]:
    """The programs of one design; none if it is no HWC."""
    if design.top != "hwc":
        return []
    folder = root / design.folder
    verilog = verilog_in(folder / "hwc.v")
    digest = digest_in(verilog, PROGRAMS)
    if digest is None:
        raise InputError(f"{folder / 'hwc.v'}: expected an HWC that hwgen generate wrote")
    parameters = _parameters(folder / "hwc.json")
    require_listed(folder, design)
    found = []
    for name, layer in zip(design.files, design.layers, strict=True):
        path = folder / "programs" / f"{name}.json"
        file = ProgramFile.read(path)
        if file.hwc != digest:
            raise InputError(f"{path}: expected a program of the HWC in hwc.v, {digest}, got one of {file.hwc}")
        schedule = load_schedule(folder / "schedules" / f"{name}.yaml")
        program = file.program(schedule, parameters, str(path))
        found.append(RunnableProgram(program, verilog, layer.number, read_images(path.parent, name, program)))
    return found


def require_listed(folder: Path, design: Design) -> None:
    """Refuse programs in a design's folder that the manifest does not list."""
    for path in sorted((folder / "programs").glob("*.json")):
        if path.stem not in design.files:
            raise InputError(f"{path}: expected a program that {MANIFEST} lists: left by another hwgen generate?")


def _parameters(path: Path) -> HwcParameters:
    data = load_yaml(path)
    try:
        return HwcParameters.from_data(data["parameters"])
    except (ParameterError, TypeError, KeyError) as error:
        raise InputError(f"{path}: parameters: expected those of an HWC: {error}") from None


def verilog_in(path: Path) -> str:
    """The text of a design; raises `InputError` with one line."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: expected the Verilog that hwgen generate wrote") from None
