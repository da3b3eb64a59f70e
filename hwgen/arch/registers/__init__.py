"""Registers of the HWC, the cluster and the pipeline: fields, access, reset values, addresses, error codes."""
