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
    d = Drawing("One schedule drives the prediction and the hardware, and both counts are equal", 172)
    network = d.box((4, 10, 88, 52), "network", "YAML, ONNX,", "TFLite", kind="file")
    hardware = d.box((4, 80, 88, 52), "hardware", "lanes, buffers,", "clusters", kind="file")
    schedule = d.box((112, 42, 84, 58), "schedule", "the best", "loop nest")
    predict = d.box((216, 6, 84, 58), "predict", "all accesses,", "all cycles")
    generate = d.box((216, 90, 84, 58), "generate", "Verilog and", "driver")
    equal = d.box((320, 6, 76, 58), "equal?", "to the byte,", "bit-exact", kind="memory")
    cosim = d.box((320, 90, 76, 58), "cosim", "the RTL,", "counted")
    soc = d.box((112, 130, 84, 34), "your SoC", kind="file")
    for one, into in ((network, schedule.left(1 / 3)), (hardware, schedule.left(2 / 3))):
        d.wire([one.right(), (102, one.right()[1]), (102, into[1]), into])
    for one, out, at in ((predict, schedule.right(1 / 3), 0.5), (generate, schedule.right(2 / 3), 0.3)):
        into = one.left(at)
        d.wire([out, (206, out[1]), (206, into[1]), into])
    d.wire([generate.left(0.75), (206, generate.left(0.75)[1]), (206, soc.right()[1]), soc.right()])
    d.wire([predict.right(), equal.left()])
    d.wire([generate.right(), cosim.left()])
    d.wire([cosim.top(), equal.bottom()])
    d.label((354, 81), "measured", "end")
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
