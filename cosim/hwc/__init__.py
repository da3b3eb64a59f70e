"""One HWC in the simulator: its test data, its runs, and the comparison with the model."""
