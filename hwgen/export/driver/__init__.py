"""The C drivers of the blocks, for software without an operating system."""
