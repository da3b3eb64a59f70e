"""Smaller networks out of large ones: some consecutive rows, and fewer channels."""

from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Feature, Network

__all__ = ["excerpt", "narrowed"]


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
