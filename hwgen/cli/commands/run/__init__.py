"""``hwgen run``."""
