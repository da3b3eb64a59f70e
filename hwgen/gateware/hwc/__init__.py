"""The hardware convolution block."""
