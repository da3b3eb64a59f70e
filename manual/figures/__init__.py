"""The drawings of the architecture page."""
