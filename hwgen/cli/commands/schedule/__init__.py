"""``hwgen schedule``."""
