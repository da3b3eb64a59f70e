"""ONNX models as graphs: parsed, normalised, with shapes. Needs the package ``onnx``."""
