"""TFLite files: the flatbuffer as plain values, and the same network in ONNX's operators."""
