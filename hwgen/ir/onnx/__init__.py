"""ONNX models as layer sets. Needs the optional package ``onnx``."""
