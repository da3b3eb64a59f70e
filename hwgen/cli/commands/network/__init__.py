"""``hwgen network``."""
