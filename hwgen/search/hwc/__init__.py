"""HWCs that serve many layers, and schedules that keep the lanes busy."""
