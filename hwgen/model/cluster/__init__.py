"""Nests of two memory levels spread over several HWCs: counts, placement in the TCDM."""
