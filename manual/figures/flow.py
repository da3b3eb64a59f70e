"""The data flow of the tool: from a network and a hardware description to equal counts."""

from manual.figures.drawing import Drawing

__all__ = ["flow"]


def flow() -> Drawing:
    """Rooms of `hwgen` as boxes, files between them."""
    d = Drawing("From a network to counts that are equal", 560)
    network = d.box((8, 8, 180, 44), "Network", "YAML table or ONNX", kind="file")
    hardware = d.box((212, 8, 180, 44), "Hardware", "YAML: lanes, buffers, ports", kind="file")
    search = d.box((110, 92, 180, 44), "search", "the best schedule")
    d.wire([network.bottom(), (98, 72), (160, 72), (160, search.y)])
    d.wire([hardware.bottom(), (302, 72), (240, 72), (240, search.y)])
    schedule = d.box((110, 168, 180, 44), "Schedule", "a loop nest with markers", kind="file")
    d.wire([search.bottom(), schedule.top()])

    model = d.box((8, 260, 150, 58), "model", "exact counts,", "cycles, energy")
    lower = d.box((212, 260, 180, 44), "lower", "parameters and program")
    d.wire([schedule.bottom(0.25), (155, 236), (83, 236), model.top()])
    d.wire([schedule.bottom(0.75), (245, 236), (302, 236), lower.top()])
    d.wire([(20, 260), (20, 114), search.left()], control=True)
    d.label((26, 152), "cost of each\ncandidate")

    export = d.box((212, 334, 180, 44), "gateware, export", "Verilog, register map")
    d.wire([lower.bottom(), export.top()])
    cosim = d.box((212, 408, 180, 44), "cosim", "every access is counted")
    d.wire([export.bottom(), cosim.top()])
    equal = d.box((110, 496, 180, 54), "Equal?", "counts of model and RTL,", "outputs bit-exact", kind="memory")
    d.wire([model.bottom(), (83, 523), equal.left()])
    d.wire([cosim.bottom(), (302, 523), equal.right()])
    d.label((89, 420), "predicted")
    d.label((308, 480), "measured")
    return d
