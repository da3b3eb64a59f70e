"""The simulators: one class each, found by name, that builds a device and runs what was built."""
