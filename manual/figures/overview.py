"""The picture of the first page: what goes in, the commands, what comes out. As a file for the README, too."""

from pathlib import Path

from manual.figures.drawing import Drawing

__all__ = ["STORED", "overview", "overview_file", "write_overview"]

STORED = Path(__file__).resolve().parents[2] / "docs" / "assets" / "overview.svg"
"""The picture that the README shows; ``make figures`` writes it."""
_STYLE = (
    "svg{color-scheme:light dark;--ink:#1f2328;--soft:#59636e;--paper:#fff;--mark:#526cfe}"
    "@media(prefers-color-scheme:dark){svg{--ink:#f0f6fc;--soft:#9198a1;--paper:#0d1117;--mark:#8c9eff}}"
    "text{font:11.5px sans-serif;fill:var(--ink)}.title,.note{text-anchor:middle}"
    ".title{font-size:13px;font-weight:600}"
    ".note,.label{fill:var(--soft)}rect{fill:var(--paper);stroke:var(--soft);stroke-width:1.2}"
    ".file rect{stroke-dasharray:4 3}.memory rect{stroke:var(--mark);stroke-width:2}"
    ".wire{fill:none;stroke:var(--ink);stroke-width:1.3}marker path{fill:var(--ink)}"
)


def overview() -> Drawing:
    """The commands of every day as blocks, what they read and write as files."""
    d = Drawing("One schedule drives the prediction and the hardware, and both counts are equal", 232)
    network = d.box((4, 14, 88, 52), "network", "YAML, ONNX,", "TFLite", kind="file")
    hardware = d.box((4, 104, 88, 52), "hardware", "buffers, lanes,", "or a cluster", kind="file")
    schedule = d.box((112, 56, 84, 58), "schedule", "the best", "loop nest")
    predict = d.box((216, 10, 84, 58), "predict", "each access,", "each cycle")
    generate = d.box((216, 104, 84, 58), "generate", "Verilog, driver,", "program")
    equal = d.box((320, 10, 76, 58), "equal?", "to the byte,", "bit-exact", kind="memory")
    cosim = d.box((320, 104, 76, 58), "cosim, run", "the RTL,", "counted")
    for one, into in ((network, schedule.left(1 / 3)), (hardware, schedule.left(2 / 3))):
        d.wire([one.right(), (102, one.right()[1]), (102, into[1]), into])
    for one, out in ((predict, schedule.right(1 / 3)), (generate, schedule.right(2 / 3))):
        d.wire([out, (206, out[1]), (206, one.left()[1]), one.left()])
    d.wire([predict.right(), equal.left()])
    d.wire([generate.right(), cosim.left()])
    d.wire([cosim.top(), equal.bottom()])
    soc = d.box((216, 186, 84, 36), "your design", kind="file")
    d.wire([generate.bottom(), soc.top()])
    d.label((354, 90), "measured", "end")
    return d


def overview_file() -> str:
    """The picture as a file of its own, in light or dark colours as the reader has them."""
    drawn = overview().svg().replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" width="720" ', 1)
    return drawn.replace("<defs>", f"<style>{_STYLE}</style><defs>", 1) + "\n"


def write_overview() -> None:
    """Keep the picture as it is drawn now."""
    STORED.write_text(overview_file(), encoding="utf-8")


if __name__ == "__main__":
    write_overview()
