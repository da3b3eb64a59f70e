"""Accesses of a processor's caches: our blocking as a Halide kernel against im2col and GEMM (Yang et al. 2016)."""
