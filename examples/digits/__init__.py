"""A LeNet for handwritten digits, from training to the RTL."""
