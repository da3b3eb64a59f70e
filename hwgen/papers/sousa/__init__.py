"""The figures of Sousa et al. 2022, computed anew."""
