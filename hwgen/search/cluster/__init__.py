"""Schedules of two memory levels for a cluster."""
