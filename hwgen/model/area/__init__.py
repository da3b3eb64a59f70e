"""Area and clock of hardware as functions of its parameters, fitted to synthesised designs."""
