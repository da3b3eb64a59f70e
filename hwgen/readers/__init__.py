"""What reads networks: layer sets from tables, ONNX models as one graph, and what is made of that graph."""
