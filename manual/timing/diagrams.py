"""The timing diagrams of the manual, as WaveDrom's JSON, from traces of the gateware."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from manual.designs import ROOT
from manual.timing.traces import Trace, apb_trace, dma_trace, hwc_trace, stream_trace

__all__ = ["FOLDER", "diagrams", "stored_diagrams", "write_diagrams"]

FOLDER = ROOT / "docs" / "waves"
GAP = -1
"""In a list of cycles: some are left out."""
SHORT = 5
"""Hexadecimal digits of a value that are shown; of a longer one the last four, after an ellipsis."""


@dataclass(frozen=True)
class Lane:
    """One line of a diagram: a signal, and the signals that are all 1 while its value counts."""

    name: str
    valid: tuple[str, ...] = ()


def _lanes(prefix: str, valid: str, *names: str) -> list[Lane]:
    """Lanes of one interface; ``valid`` names the signals that say when they count, separated by spaces."""
    return [Lane(f"{prefix}{name}", tuple(f"{prefix}{one}" for one in valid.split())) for name in names]


def diagrams() -> dict[str, dict[str, Any]]:
    """WaveDrom's JSON for each diagram, from simulations that run now."""
    hwc, apb, dma = hwc_trace(), apb_trace(), dma_trace()
    found = {"apb": _diagram(apb, _APB, range(len(apb["apb__psel"])))}
    stall = _first_stall(hwc, "tcdm_w__")
    found["tcdm-read"] = _diagram(hwc, _tcdm("tcdm_w__"), range(stall - 3, stall + 7))
    writes = next(
        cycle for cycle in range(len(hwc["irq"])) if hwc["tcdm_o__req"][cycle] and not hwc["tcdm_o__wen"][cycle]
    )
    found["tcdm-write"] = _diagram(hwc, _tcdm("tcdm_o__", write=True), range(writes - 1, writes + 8))
    begin, end = dma.first("axi__arvalid") - 1, dma.first("axi__rlast") + 2
    found["axi-read"] = _diagram(dma, _AXI_READ, range(begin, end))
    begin, end = dma.first("axi__awvalid") - 1, dma.first("axi__bvalid") + 2
    found["axi-write"] = _diagram(dma, _AXI_WRITE, range(begin, end))
    reads = hwc.first("tcdm_i__req")
    start = max(cycle for cycle in range(reads) if hwc["cfg__req"][cycle])
    ended = hwc.first("irq")
    found["start"] = _diagram(hwc, _START, [*range(start - 1, start + 5), GAP, *range(ended - 2, len(hwc["irq"]))])
    beats = stream_trace()
    found["stream"] = _diagram(beats, _STREAM, range(len(beats["i_map0__valid"])))
    return found


def _first_stall(trace: Trace, prefix: str) -> int:
    """The first cycle in which a request waits right after another one was granted."""
    requests, grants = trace[f"{prefix}req"], trace[f"{prefix}gnt"]
    return next(i for i in range(3, len(requests)) if requests[i] and not grants[i] and grants[i - 1])


_APB = [
    *_lanes("apb__", "", "psel", "penable"),
    *_lanes("apb__", "psel", "paddr", "pwrite"),
    *_lanes("apb__", "psel pwrite", "pwdata"),
    Lane("apb__pready"),
    *_lanes("apb__", "pready", "prdata", "pslverr"),
]
_AXI_READ = [
    *_lanes("axi__", "", "arvalid", "arready"),
    *_lanes("axi__", "arvalid", "arid", "araddr", "arlen"),
    *_lanes("axi__", "", "rvalid", "rready"),
    *_lanes("axi__", "rvalid", "rdata", "rlast"),
]
_AXI_WRITE = [
    *_lanes("axi__", "", "awvalid", "awready"),
    *_lanes("axi__", "awvalid", "awid", "awaddr", "awlen"),
    *_lanes("axi__", "", "wvalid", "wready"),
    *_lanes("axi__", "wvalid", "wdata", "wstrb", "wlast"),
    *_lanes("axi__", "", "bvalid", "bready"),
    Lane("axi__bresp", ("axi__bvalid",)),
]
_STREAM = [
    *_lanes("i_map0__", "", "valid", "ready"),
    *_lanes("i_map0__", "valid", "payload"),
    Lane("i_map0_keep", ("i_map0__valid",)),
]
_START = [
    Lane("cfg__req"),
    *_lanes("cfg__", "req", "add", "wen", "wdata"),
    Lane("cfg__r_valid"),
    Lane("cfg__r_rdata", ("cfg__r_valid",)),
    Lane("tcdm_i__req"),
    Lane("irq"),
]


def _tcdm(prefix: str, *, write: bool = False) -> list[Lane]:
    asked = ("add", "wen", "be", "wdata") if write else ("add", "wen", "be")
    answer = [] if write else _lanes(prefix, "r_valid", "r_rdata")
    return [
        *_lanes(prefix, "", "req", "gnt"),
        *_lanes(prefix, "req", *asked),
        *_lanes(prefix, "", "r_valid"),
        *answer,
    ]


def _diagram(trace: Trace, lanes: Sequence[Lane], cycles: Sequence[int]) -> dict[str, Any]:
    clock = "".join("p" if i == 0 else "|" if cycle == GAP else "." for i, cycle in enumerate(cycles))
    return {"signal": [{"name": "clk", "wave": clock}, *(_line(trace, lane, cycles) for lane in lanes)]}


def _line(trace: Trace, lane: Lane, cycles: Sequence[int]) -> dict[str, Any]:
    """A value that stays is a dot, a gap is a bar; after a gap everything is said anew."""
    is_bit = trace.widths[lane.name] == 1
    wave, labels = "", list[str]()
    shown: int | str | None = None
    for cycle in cycles:
        if cycle == GAP:
            wave, shown = wave + "|", None
            continue
        counts = all(trace[valid][cycle] for valid in lane.valid)
        value: int | str = trace[lane.name][cycle] if counts else "x"
        if value == shown:
            wave += "."
        elif value == "x" or is_bit:
            wave += str(value)
        else:
            wave += "="
            labels.append(_label(int(value)))
        shown = value
    return {"name": lane.name, "wave": wave, **({"data": labels} if labels else {})}


def _label(value: int) -> str:
    digits = f"{value:x}"
    return digits if len(digits) <= SHORT else f"…{digits[-SHORT + 1 :]}"


def stored_diagrams() -> dict[str, dict[str, Any]]:
    """The diagrams that are kept in ``docs/waves``."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def write_diagrams() -> None:
    """Keep the diagrams that the gateware gives now."""
    FOLDER.mkdir(exist_ok=True)
    for name, diagram in diagrams().items():
        lines = ",\n".join(f"  {json.dumps(line, ensure_ascii=False)}" for line in diagram["signal"])
        (FOLDER / f"{name}.json").write_text(f'{{"signal": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    write_diagrams()
