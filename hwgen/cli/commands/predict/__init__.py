"""``hwgen predict``."""
