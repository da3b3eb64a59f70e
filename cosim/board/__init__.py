"""Designs for a board, simulated whole, with the host program at the other end of the serial line."""
