"""Area and clock of generated hardware."""
