"""Schedules that are searched: the request, and the plans that come of it."""
