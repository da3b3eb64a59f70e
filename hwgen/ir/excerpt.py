"""Networks made of others: some consecutive rows, fewer channels, another resolution of the input."""

from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Feature, Network, Node
from hwgen.ir.operators import Axis, Reading

__all__ = ["at_resolution", "excerpt", "narrowed"]


def excerpt(network: Network, first: str, last: str) -> Network:
    """The rows from ``first`` to ``last``, which read one map from before them; it becomes the network's input."""
    entry = network.connected_input()
    names = [node.name for node in network.layers]
    for name in (first, last):
        if name not in names:
            raise InputError(f"{network.network}: no row of the name {name}")
    rows = network.layers[names.index(first) : names.index(last) + 1]
    kept = {node.name for node in rows}
    outside = dict.fromkeys(name for node in rows for name in node.inputs if name not in kept)
    if len(outside) != 1:
        raise InputError(f"{network.network}: {first} to {last}: expected one map that is read from before them")
    (name,) = outside
    if name == entry.name:
        source = entry
    else:
        node = network.layers[names.index(name)]
        source = Feature(name=name, channels=node.output_channels, height=node.output_height, width=node.output_width)
    data: dict[str, Any] = {
        "format": 1,
        "kind": "network",
        "network": f"{network.network}: {first} to {last}",
        "source": network.source,
        "input": Feature.model_dump(source),
        "layers": [node.model_dump(mode="json", exclude_unset=True) for node in rows],
    }
    return Network.from_data(data)


def narrowed(network: Network, divisor: int) -> Network:
    """The network with a ``divisor``-th of the channels of every map; an input that cannot be divided stays."""
    source = network.connected_input()
    channels = {source.name: source.channels if source.channels % divisor else source.channels // divisor}
    rows = []
    for node in network.layers:
        row = node.model_dump(mode="json", exclude_unset=True)
        read = [channels[name] for name in node.inputs]
        row["input_channels"] = node.operator.channels_read(read)
        if node.output_channels % divisor:
            raise InputError(f"{node.name}: output_channels: expected a multiple of {divisor}")
        row["output_channels"] = node.output_channels // divisor
        if node.groups > 1:
            if node.groups != node.input_channels:
                raise InputError(f"{node.name}: groups: expected 1 or a group for each input channel")
            row["groups"] = row["input_channels"]
        channels[node.name] = row["output_channels"]
        rows.append(row)
    data: dict[str, Any] = {
        "format": 1,
        "kind": "network",
        "network": f"{network.network}, channels / {divisor}",
        "source": network.source,
        "input": Feature.model_dump(source.model_copy(update={"channels": channels[source.name]})),
        "layers": rows,
    }
    return Network.from_data(data)


# --- another resolution ---

AXES: tuple[Axis, Axis] = (0, 1)


def at_resolution(network: Network, width: int, height: int) -> Network:
    """The network with an input of ``width`` x ``height`` pixels.

    Padding stays as it is, unless every window of the table is padded as TensorFlow's SAME does it for its size, and
    some of them unequally: then it is so again. Global pools cover what there is then. `InputError` if a row cannot
    have the size that it would get.
    """
    entry = network.connected_input()
    if (entry.width, entry.height) == (width, height):
        return network
    source = entry.model_copy(update={"width": width, "height": height})
    unequal = any(node.padding[:2] != node.padding[2:] for node in network.layers)
    same = unequal and all(_is_same(node) for node in network.layers)
    sizes = {source.name: (height, width)}
    rows = []
    for node in network.layers:
        row = _resized(node, sizes, same=same)
        sizes[node.name] = (row["output_height"], row["output_width"])
        rows.append(row)
    data: dict[str, Any] = {
        "format": 1,
        "kind": "network",
        "network": f"{network.network} at {width}x{height}",
        "source": network.source,
        "input": Feature.model_dump(source),
        "layers": rows,
    }
    return Network.from_data(data, f"{network.network} at {width}x{height}")


def _same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _is_same(node: Node) -> bool:
    if node.operator.reading(node) is not Reading.WINDOW:
        return True
    sizes = (node.input_height, node.input_width)
    return all(
        (node.padding[axis], node.padding[2 + axis])
        == _same_padding(sizes[axis], node.kernel[axis], node.stride[axis])
        for axis in (0, 1)
    )


def _resized(node: Node, sizes: dict[str, tuple[int, int]], *, same: bool) -> dict[str, Any]:
    row = node.model_dump(mode="json", exclude_unset=True)
    given = sizes[node.inputs[0]]
    if node.operator.flattens:
        if given != (1, 1):
            raise InputError(f"{node.name}: expected an input of 1x1 pixels for fc, got {given[1]}x{given[0]}")
        return row
    kernel, padding = list(node.kernel), list(node.padding)
    made = [0, 0]
    for axis in AXES:
        size = given[axis]
        if node.global_pool:
            kernel[axis], padding[axis], padding[2 + axis] = size, 0, 0
        elif same and node.operator.reading(node) is Reading.WINDOW:
            padding[axis], padding[2 + axis] = _same_padding(size, kernel[axis], node.stride[axis])
        try:
            made[axis] = node.operator.output_size(node, axis, size, kernel[axis], padding[axis] + padding[2 + axis])
        except ValueError as error:
            raise InputError(f"{node.name}: {error}") from None
    row |= {"kernel": kernel, "padding": padding, "input_height": given[0], "input_width": given[1]}
    return row | {"output_height": made[0], "output_width": made[1]}
