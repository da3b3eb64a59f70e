"""The facts of the hardware, in pure Python: parameters, registers, commands, memory layout, latencies, widths."""
