"""Quantised ONNX models as integer graphs. Needs the optional package ``onnx``."""
