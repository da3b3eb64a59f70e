"""Other programs and processes: simulators, compilers, worker processes, and caches of their results."""
