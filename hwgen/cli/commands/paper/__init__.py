"""``hwgen paper``."""
