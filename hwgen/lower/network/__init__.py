"""A quantised network on one HWC or a cluster: what runs where and when, places in the DRAM, programs."""
