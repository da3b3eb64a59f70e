"""``hwgen generate``."""
