"""Networks as graphs: tensors with shapes and quantisation, nodes with their weights."""
