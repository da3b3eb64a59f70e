"""Layer sets by name: tables, and ONNX and TFLite models."""

from pathlib import Path

from hwgen.ir.builtin import named_file
from hwgen.ir.document import is_model, load_yaml
from hwgen.ir.layer_set import Network

__all__ = ["load_layer_set", "load_network"]


def load_network(path: Path) -> Network:
    """Read one layer table (YAML), or a model with weights if the file's name ends so."""
    if is_model(path):
        from hwgen.readers.layers.reader import read_onnx

        return read_onnx(path)
    return Network.from_data(load_yaml(path), str(path))


def load_layer_set(name: str) -> Network:
    """The layer set of a file or a built-in name; with ``:PREFIX``, its layers whose name starts so."""
    if ":" in name and not Path(name).is_file():
        base, _, prefix = name.rpartition(":")
        return load_network(named_file("layersets", base)).starting_with(prefix)
    return load_network(named_file("layersets", name))
