"""Integer reference of quantised networks, and its comparison with ONNX Runtime."""
