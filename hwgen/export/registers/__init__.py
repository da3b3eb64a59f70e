"""A register bank as files: SystemRDL, and what is made of it for software and other tools."""
