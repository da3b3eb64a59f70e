"""hwgen: convolution schedules with proven traffic, and the hardware that runs them with exactly that traffic."""

__version__ = "0.1.0"
