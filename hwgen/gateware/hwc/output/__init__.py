"""The output stream of an HWC: partial sums in and out, final outputs out."""
