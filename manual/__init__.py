"""The parts of the documentation that are made from the code: ports, registers, commands, API pages, drawings."""
