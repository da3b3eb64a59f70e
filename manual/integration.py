"""Generated pages of the integration guide: ports of every top, and how to instantiate it in Verilog."""

from collections.abc import Iterator

from manual.markdown import cell, table
from manual.ports import CLOCK, RESET, TOPS, Port, Top, top

__all__ = ["instantiation", "instantiation_page", "ports_page"]

_SHOWN = {
    "hwc": "A single HWC. The widths of its ports do not depend on its parameters.",
    "cluster": "HWCs, DMA and shared memory. The width of the AXI data is a parameter: 32, 64 or 128 bits.",
    "pipeline": "The streams of a pipeline depend on its stages. The one shown has every kind of stream: map 0 "
    "comes in, map 2 is written, stage 1 reads map 0 a second time from DRAM, map 0 takes overlap columns and map "
    "1 gives some. A beat of a stream has from 1 to 64 bytes.",
    "dma": "The DMA is a part of the cluster and no top of its own. Its ports connect it to the queues, the "
    "registers and the memory of the cluster; `axi` is the AXI port of the cluster.",
}
INSTANTIATED = tuple(name for name in TOPS if name != "dma")


def ports_page() -> str:
    """Every port of every top with direction, width, protocol and clock."""
    lines = ["# Ports", "", "Here you look up each port that you have to connect, with its width and its protocol."]
    lines += [f"Every port is synchronous to the rising edge of `{CLOCK}`. Names are those of the generated Verilog."]
    lines += ["[Handshakes](handshakes.md) shows the protocols in time.", ""]
    for name in TOPS:
        lines += [f"## {name}", "", _SHOWN[name], "", *_ports_table(top(name)), ""]
    return "\n".join(lines)


def _ports_table(shown: Top) -> Iterator[str]:
    rows = [
        [f"`{CLOCK}`", "input", "1", "clock", "", "Clock; the rising edge counts."],
        [f"`{RESET}`", "input", "1", "reset", f"`{CLOCK}`", "Synchronous reset, active high."],
    ]
    for interface in shown.interfaces:
        for number, port in enumerate(interface.ports):
            text = interface.meaning.replace("|", "\\|").replace("``", "`") if number == 0 else ""
            rows.append([f"`{port.name}`", port.direction, str(port.width), interface.protocol, f"`{CLOCK}`", text])
    yield from table(["Port", "Direction", "Bits", "Protocol", "Clock", "Meaning"], rows)


def instantiation_page() -> str:
    """A template for each top."""
    lines = ["# Instantiation", ""]
    lines += ["Here you copy a template, and connect its wires. The ports of a pipeline depend on its stages;"]
    lines += ["those of HWC and cluster are always the same, but for the width of the AXI data.", ""]
    for name in INSTANTIATED:
        lines += [f"## {name}", "", "```verilog", instantiation(top(name)).rstrip(), "```", ""]
    return "\n".join(lines)


def instantiation(shown: Top) -> str:
    """Verilog: a wire for each port, and an instance that is connected to them."""
    text = []
    for interface in shown.interfaces:
        text += [f"// {interface.name}: {cell(interface.protocol).replace('`', '')}"]
        text += [f"wire {_range(port):>8} {port.name};" for port in interface.ports]
    longest = max(len(port.name) for port in shown.ports)
    connections = [
        f"  .{port.name:<{longest}} ({port.name}){',' if port != shown.ports[-1] else ' '} // {port.direction}"
        for port in shown.ports
    ]
    return "\n".join([*text, "", f"{shown.name} {shown.name}_0 (", *connections, ");", ""])


def _range(port: Port) -> str:
    return f"[{port.width - 1}:0]" if port.width > 1 else ""
