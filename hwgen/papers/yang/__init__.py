"""The figures of Yang et al. 2016, as far as the model alone shows them."""
