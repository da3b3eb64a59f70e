"""Operands of a layer as the layer has them that is run in its place, and back: see `hwgen.ir.layer.Form`."""

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.layer import Layer

__all__ = ["network_weights", "run_weights"]

Elements = NDArray[np.signedinteger]


def run_weights(layer: Layer, weights: Elements) -> Elements:
    """The weights [M, C, R, S] of the layer that is run, C the channels of its groups.

    ``weights`` [M, C/groups, R, S] : as the network has them. Groups that are run at once have zeros between them.
    """
    if layer.form.groups_at_once == 1:
        return weights
    found = np.zeros((layer.output_channels, layer.channels_per_group, *layer.kernel), weights.dtype)
    np.put_along_axis(found, _channels(layer), weights, axis=1)
    return found


def network_weights(layer: Layer, weights: Elements) -> Elements:
    """The weights as the network has them; the inverse of `run_weights`."""
    if layer.form.groups_at_once == 1:
        return weights
    return np.take_along_axis(weights, _channels(layer), axis=1)


def _channels(layer: Layer) -> NDArray[np.intp]:
    """The channel of the layer that is run for each weight of the network's, [M, C/groups, 1, 1]."""
    own = layer.of_network
    group = np.arange(own.output_channels) // own.outputs_per_group % layer.form.groups_at_once
    channels = group[:, None] * own.channels_per_group + np.arange(own.channels_per_group)
    return channels[:, :, None, None]
