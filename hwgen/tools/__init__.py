"""What starts other programs: simulators and compilers, worker processes, caches."""
